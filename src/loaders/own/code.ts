import type { Blobs } from "../../core/base/blobs.ts";
import { inputError, SkillflowError } from "../../core/base/errors.ts";
import { defined, type Json, type JsonObject } from "../../core/base/values.ts";
import { CODE, CODE_TOOL } from "../../core/engine/tools/code.ts";
import type { Skill, ToolContext } from "../../core/skill/skill.ts";
import { describeAbsence } from "../../core/skill/skill-reference.ts";
import type { RunnablePackage } from "../folder/format.ts";
import { keepMade, type MountedBlob, type RunOutcome, runCode } from "../programs/package-run.ts";
import type { SkillSet } from "../registry/skill-set.ts";

type Registry = Pick<SkillSet, "find" | "host">;

/** Returns the skill. `registry` is available once the tool is called. */
export function codeSkill(registry: () => Registry): Skill {
  const handler = (wanted: WantedCode, context: ToolContext) => runWritten(wanted, registry(), context);
  return {
    id: CODE,
    name: "Code",
    description: "Runs Python that the model writes, in a sandbox: calculations, and results too large for a prompt.",
    category: "general",
    config: {},
    tools: [{ ...CODE_TOOL, handler }],
    instruction:
      "Calculate with code rather than by yourself, and use it on results that came as blobs: read the blob in the code, and return the few numbers or lines that matter. Define `main(args)`, and return JSON.",
  };
}

interface WantedCode {
  readonly code: string;
  readonly entrypoint?: string;
  readonly args?: JsonObject;
  readonly mount_skills?: readonly string[];
  readonly input_blobs?: readonly string[];
  readonly limits?: { readonly timeout_ms?: number };
}

const DEFAULT_TIMEOUT_MS = 60_000;
const MOST_TIMEOUT_MS = 600_000;

async function runWritten(wanted: WantedCode, set: Registry, context: ToolContext): Promise<Json> {
  const { code, entrypoint = "main", args = {}, mount_skills = [], input_blobs = [], limits = {} } = wanted;
  const outcome = await runCode({
    host: set.host,
    code,
    entrypoint,
    args,
    mounts: (await Promise.all([...new Set(mount_skills)].map((name) => findMounts(set, name)))).flat(),
    blobs: await Promise.all([...new Set(input_blobs)].map((id) => mountBlob(context.blobs, id))),
    limits: { wallMs: Math.min(limits.timeout_ms ?? DEFAULT_TIMEOUT_MS, MOST_TIMEOUT_MS) },
    signal: context.signal,
  });
  if (outcome.logs.trim() !== "") context.logger.info(outcome.logs.trim());
  if (outcome.status === "completed") return (await keepMade(outcome, context.blobs)).output;
  throw new SkillflowError(outcome.error.code, describeFailure(outcome), defined("acted", outcome.error.acted));
}

/** Returns the packages of a skill to mount. Skills by other authors must be trusted, as for running them. */
async function findMounts({ find }: Registry, name: string): Promise<readonly RunnablePackage[]> {
  const entry = await find(name);
  const refuse = (reason: string) => inputError(`skill ${name} cannot be mounted: ${reason}`);
  if (!entry) throw refuse(describeAbsence(name));
  const { mounts, source, unavailable, withheld } = entry;
  if (mounts.length === 0) throw refuse("it has no Python function");
  const reason = unavailable?.reason ?? withheld ?? (source.trusted ? undefined : "it is not trusted");
  if (reason !== undefined) throw refuse(reason);
  return mounts;
}

async function mountBlob(blobs: Blobs, id: string): Promise<MountedBlob> {
  if (await blobs.info(id)) return { id, file: await blobs.file(id) };
  throw new SkillflowError("blob.unknown", `no result of this run named the blob ${id}`);
}

/** Includes the whole output. It is truncated after redaction, and the end, where the error is, is kept. */
function describeFailure({ error, logs }: Extract<RunOutcome, { status: "failed" }>): string {
  const what = `${error.type}: ${error.message}`;
  return logs.trim() === "" ? what : `${what}\nWhat it printed:\n${logs.trim()}`;
}
