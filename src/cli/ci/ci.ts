import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { messageOf, SkillflowError } from "../../core/base/errors.ts";
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

/** What a run leaves behind for CI. */
interface Left {
  readonly written: readonly WrittenFile[];
  readonly plan: Plan | undefined;
  /** Where each node stands in the workflow's file. */
}

/** What an apply came to. */
type Applied = Pick<Outputs, "run" | "status" | "planFile" | "planCount" | "planDigest" | "recordDigest"> & {
  readonly summary: string;
};

/** What GitHub Actions is told of a run (cli "In CI"); its commands go to stderr, so that stdout stays what was asked for. */
interface GithubActions {
  /** Before anything else is printed. */
  mask(secrets: readonly string[]): Promise<void>;
  report(report: Report, left: Left): Promise<void>;
  applied(applied: Applied): Promise<void>;
  /** Nothing ran. */
  refused(error: unknown): Promise<void>;
}

/** Whether a CI system runs the program, as far as the environment shows it. */
export function isCi(env: Io["host"]["env"]): boolean {
  return CI_VARIABLES.some((name) => env[name] && env[name] !== "false" && env[name] !== "0");
}

const CI_VARIABLES =
  "CI GITHUB_ACTIONS GITLAB_CI BUILDKITE CIRCLECI TRAVIS DRONE JENKINS_URL BUILD_ID TEAMCITY_VERSION TF_BUILD CODEBUILD_BUILD_ID BITBUCKET_BUILD_NUMBER".split(
    " ",
  );

/** Undefined where nothing says that this is GitHub Actions. */
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
    throw new SkillflowError("output.failed", `${path} could not be written: ${messageOf(error)}`);
  }
}
