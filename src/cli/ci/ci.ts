import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import type { Workspace } from "../../app/host.ts";
import type { PreparedRun } from "../../app/runs/prepare.ts";
import { secretsOf } from "../../app/secrets.ts";
import { unwritten } from "../../core/base/errors.ts";
import { createRedactor } from "../../core/base/redact/redact.ts";
import type { Plan } from "../../core/engine/event/operation.ts";
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

export function isCi(env: Io["host"]["env"]): boolean {
  return CI_VARIABLES.some((name) => env[name] && env[name] !== "false" && env[name] !== "0");
}

const CI_VARIABLES =
  "CI GITHUB_ACTIONS GITLAB_CI BUILDKITE CIRCLECI TRAVIS DRONE JENKINS_URL BUILD_ID TEAMCITY_VERSION TF_BUILD CODEBUILD_BUILD_ID BITBUCKET_BUILD_NUMBER".split(
    " ",
  );

/** Reports to GitHub Actions. Commands go to stderr, because stdout holds the requested output. Undefined elsewhere. */
export function githubActions(io: Pick<Io, "command" | "clean"> & { readonly host: Pick<Io["host"], "env"> }) {
  const { host, command, clean } = io;
  const { env } = host;
  if (env.GITHUB_ACTIONS !== "true") return undefined;
  const say = async (lines: readonly string[]) => {
    for (const line of lines) await command(line);
  };
  const output = (outputs: Outputs) => append(env.GITHUB_OUTPUT, outputsOf(outputs, `end-${randomUUID()}`));
  return {
    /** Masks secrets. Must be called before anything else is printed. */
    mask: (secrets: readonly string[]) => say(maskCommands(secrets)),
    async report(report: Report, written: readonly WrittenFile[], plan: Plan | undefined) {
      await say(annotationsOfRun(report));
      append(env.GITHUB_STEP_SUMMARY, stepSummary(report));
      const { result, events } = report;
      const { costUsd, inputTokens, outputTokens } = result.usage;
      const pathOf = (kind: string) => written.find((file) => file.kind === kind)?.path;
      output({
        "run-id": result.run,
        status: result.status,
        verdict: result.verdict,
        degraded: [...new Set(result.degraded.map(({ node }) => node))].join(","),
        "result-file": pathOf("json"),
        "report-file": pathOf("html"),
        "plan-file": pathOf("plan"),
        "plan-count": result.plan.length,
        "plan-digest": plan?.digest,
        "record-digest": events.at(-1)?.seal,
        "cost-usd": costUsd,
        "input-tokens": inputTokens,
        "output-tokens": outputTokens,
      });
    },
    async applied(summary: string, outputs: Outputs) {
      append(env.GITHUB_STEP_SUMMARY, summary);
      output(outputs);
    },
    async refused(error: unknown) {
      await say(annotationsOfRefusal(error));
      append(env.GITHUB_STEP_SUMMARY, clean(refusalSummary(error)));
      output({ status: "refused", "plan-count": 0 });
    },
  };
}

/** Redacts the secrets of the project's environment from all further text, and masks them in GitHub Actions. */
export async function hideSecrets(io: Io, workspace: Workspace): Promise<void> {
  const secrets = secretsOf(workspace);
  await maskSecrets(io, { secrets, redactor: createRedactor(secrets) });
}

/** Redacts secrets from all further text and masks them. A value that is too short to redact is not masked either. */
export async function maskSecrets(io: Io, hidden: Pick<PreparedRun, "secrets" | "redactor">): Promise<void> {
  const { secrets, redactor } = hidden;
  await githubActions(io)?.mask(secrets.flatMap(({ value }) => (redactor.text(value) === value ? [] : [value])));
  io.protect(redactor);
}

function append(path: string | undefined, text: string): void {
  if (!path) return;
  try {
    appendFileSync(path, text);
  } catch (error) {
    throw unwritten(`${path} could not be written`, error);
  }
}
