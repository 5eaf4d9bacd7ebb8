import { githubActions } from "../../cli/ci/ci.ts";
import { maskCommands } from "../../cli/ci/github.ts";
import { asOurs, messageOf, SkillflowError } from "../../core/base/errors.ts";
import { logText, plainLine } from "../../core/base/inert.ts";
import type { Environment } from "../../core/document/config.ts";
import type { Call } from "../command-line.ts";
import { admitActors } from "./actors.ts";
import { keepComment, openComment } from "./comment.ts";
import { federate } from "./federation.ts";
import { openGitHub } from "./github.ts";
import {
  asInput,
  type Errand,
  errandOf,
  type Inputs,
  isCommented,
  listOf,
  readInputs,
  withoutInputs,
} from "./inputs.ts";

export interface Step {
  readonly env: Environment;
  /** Working directory. GITHUB_WORKSPACE takes precedence. */
  readonly cwd: string;
  readonly fetch: typeof fetch;
  /** Writes to the job's log, which the runner reads too. */
  readonly say: (text: string) => Promise<void>;
  readonly commandLine: (call: Call) => Promise<number>;
}

/** Runs the action and returns the exit code: checks actors, gets keys, runs the program, writes the comment. */
export async function runAction(step: Step): Promise<number> {
  const inputs = readInputs(step.env);
  const mask = async (secret: string) => {
    for (const line of maskCommands([secret])) await step.say(`${line}\n`);
  };
  await mask(inputs["github-token"]);
  try {
    const errand = errandOf(inputs);
    const commented = isCommented(inputs);
    const github = openGitHub(step.env, inputs["github-token"], step.fetch);
    await admitActors(step.env, listOf(inputs["allow-actors"]), github);
    const { keys, env } = await federate(inputs, { ...step, mask });
    const call = {
      env: { ...programEnvironment(step.env, inputs), ...env },
      cwd: step.env.GITHUB_WORKSPACE || step.cwd,
      keys,
      writeOption: asInput,
    };
    if (errand.kind === "apply") await verifyRecord(step, errand, call);
    const { argv } = errand;
    if (errand.kind === "apply" || !commented) return await step.commandLine({ ...call, argv });
    const comment = openComment(errand.workflow, step.env, github);
    try {
      const code = await step.commandLine({ ...call, argv: [argv[0] ?? "", ...comment.reports, ...argv.slice(1)] });
      return await keepComment(comment, code, step.say);
    } finally {
      comment.close();
    }
  } catch (error) {
    return tellRefused(step, error);
  }
}

/** Verifies the run's record against the digest from the planning job before anything in it is used. */
async function verifyRecord(
  { commandLine }: Step,
  { plan, recordDigest, store }: Errand & { readonly kind: "apply" },
  call: Omit<Call, "argv">,
): Promise<void> {
  const { planAt } = await import("../../cli/commands/run/apply.ts");
  const run = planAt(call.cwd, plan)?.run;
  if (run === undefined) {
    const hint = "download the artifact of the job that planned it first";
    throw new SkillflowError("run.unknown", `there is no plan ${plan}`, { hint });
  }
  const code = await commandLine({
    ...call,
    argv: ["runs", "verify", `--digest=${recordDigest}`, ...store, "--", run],
  });
  if (code !== 0) throw new SkillflowError("run.altered", `the record of run ${run} does not match record-digest`);
}

/** Removes the action's inputs. Passes its tokens under names that are redacted from recordings. */
function programEnvironment(env: Environment, inputs: Inputs): Environment {
  const { ACTIONS_ID_TOKEN_REQUEST_TOKEN: identity, ACTIONS_ID_TOKEN_REQUEST_URL: _, ...own } = withoutInputs(env);
  const tokens = { ACTION_GITHUB_TOKEN: inputs["github-token"], ACTION_IDENTITY_TOKEN: identity };
  return { ...own, ...Object.fromEntries(Object.entries(tokens).filter(([, token]) => token)) };
}

/** Reports an error before the run to the log, the runner and later steps. */
async function tellRefused({ env, say }: Step, error: unknown): Promise<number> {
  const { message, hint, exitCode } = asOurs(error);
  await say(logText(`error: ${plainLine(message)}\n${hint === undefined ? "" : `  ${plainLine(hint)}\n`}`));
  const io = { host: { env }, command: (line: string) => say(`${line}\n`), clean: (text: string) => text };
  try {
    await githubActions(io)?.refused(error);
  } catch (failure) {
    await say(logText(`error: ${plainLine(messageOf(failure))}\n`));
  }
  return exitCode;
}
