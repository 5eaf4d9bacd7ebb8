import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { unwritten } from "../../core/base/errors.ts";
import type { Plan } from "../../core/engine/event/operation.ts";
import type { RunResult } from "../../core/engine/result/result.ts";
import type { Report } from "../../reports/model/report.ts";
import type { Io } from "../io.ts";
import type { WrittenFile } from "../outputs.ts";
import {
  annotationsOfRefusal,
  annotationsOfRun,
  maskCommands,
  type Outputs,
  outputsOf,
  refusalSummary,
  stepSummary,
} from "./github.ts";

/** Files that a run leaves for CI. */
interface Left {
  readonly written: readonly WrittenFile[];
  readonly plan: Plan | undefined;
}

type Applied = Pick<Outputs, "run" | "status" | "planFile" | "planCount" | "planDigest" | "recordDigest"> & {
  readonly summary: string;
};

/** Reports to GitHub Actions. Commands go to stderr, because stdout holds the requested output. */
interface GithubActions {
  /** Masks secrets. Must be called before anything else is printed. */
  mask(secrets: readonly string[]): Promise<void>;
  report(report: Report, left: Left): Promise<void>;
  applied(applied: Applied): Promise<void>;
  /** Reports that nothing ran. */
  refused(error: unknown): Promise<void>;
}

/** Checks for the environment variables of known CI systems. */
export function isCi(env: Io["host"]["env"]): boolean {
  return CI_VARIABLES.some((name) => env[name] && env[name] !== "false" && env[name] !== "0");
}

const CI_VARIABLES =
  "CI GITHUB_ACTIONS GITLAB_CI BUILDKITE CIRCLECI TRAVIS DRONE JENKINS_URL BUILD_ID TEAMCITY_VERSION TF_BUILD CODEBUILD_BUILD_ID BITBUCKET_BUILD_NUMBER".split(
    " ",
  );

/** Returns undefined outside of GitHub Actions. */
export function githubActions({
  host: { env },
  command,
  clean,
}: Pick<Io, "command" | "clean"> & { readonly host: Pick<Io["host"], "env"> }): GithubActions | undefined {
  if (env.GITHUB_ACTIONS !== "true") return undefined;
  const say = async (lines: readonly string[]) => {
    for (const line of lines) await command(line);
  };
  const output = (outputs: Outputs) => append(env.GITHUB_OUTPUT, outputsOf(outputs, `end-${randomUUID()}`));
  return {
    mask: (secrets) => say(maskCommands(secrets)),
    async report(report, { written, plan }) {
      await say(annotationsOfRun(report));
      append(env.GITHUB_STEP_SUMMARY, stepSummary(report));
      const { result, events } = report;
      const pathOf = (kind: string) => written.find((file) => file.kind === kind)?.path ?? "";
      output({
        ...spentOn(result),
        run: result.run,
        status: result.status,
        verdict: result.verdict,
        degraded: [...new Set(result.degraded.map(({ node }) => node))],
        resultFile: pathOf("json"),
        reportFile: pathOf("html"),
        planFile: pathOf("plan"),
        planCount: result.plan.length,
        planDigest: plan?.digest,
        recordDigest: events.at(-1)?.seal,
      });
    },
    async applied({ summary, ...outputs }) {
      append(env.GITHUB_STEP_SUMMARY, summary);
      output(outputs);
    },
    async refused(error) {
      await say(annotationsOfRefusal(error));
      append(env.GITHUB_STEP_SUMMARY, clean(refusalSummary(error)));
      output({ run: "", status: "refused", planCount: 0 });
    },
  };
}

function spentOn({ usage: { costUsd, inputTokens, outputTokens } }: RunResult) {
  return { costUsd, inputTokens, outputTokens };
}

function append(path: string | undefined, text: string): void {
  if (!path) return;
  try {
    appendFileSync(path, text);
  } catch (error) {
    throw unwritten(`${path} could not be written`, error);
  }
}
