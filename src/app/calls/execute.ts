import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Blobs } from "../../core/base/blobs.ts";
import { SkillflowError } from "../../core/base/errors.ts";
import { cutMiddle } from "../../core/base/preview.ts";
import { schemaProblems } from "../../core/base/schema/schema.ts";
import type { Json, JsonObject } from "../../core/base/values.ts";
import { forbidsSkill } from "../../core/document/policy.ts";
import { describeMisfit } from "../../core/skill/formats/contract.ts";
import type { Failure, Skill } from "../../core/skill/skill.ts";
import { temporaryName } from "../../files/temporary-name.ts";
import type { RunnablePackage } from "../../loaders/folder/format.ts";
import { openPackagesAhead } from "../../loaders/programs/package-place.ts";
import { keepMade, type RunOutcome, runCode, runPackage } from "../../loaders/programs/package-run.ts";
import { handlerConfig } from "../../loaders/registry/entry.ts";
import { cleanBlobs } from "../../run/call.ts";
import { inTurn } from "../../run/queue.ts";
import { holdLarge } from "../../run/results/large.ts";
import { fileBlobs } from "../../stores/blobs.ts";
import type { Host, Workspace } from "../host.ts";
import { environmentRedactor } from "../secrets.ts";
import type { SkillEntry } from "../workspace.ts";
import { invokeSkill, listServers, mayWrite } from "./call-skill.ts";

export type { RunnablePackage };

/** Opens temporary blob storage for a service. `forget` deletes it. */
export async function openBlobs({ self }: Host, service: string) {
  const folder = await mkdtemp(join(tmpdir(), temporaryName(service, self)));
  return { blobs: fileBlobs(folder), forget: () => rm(folder, { recursive: true, force: true }) };
}

/**
 * Single executions for other programs, of a skill or of their own code. They wait in the process-wide queue, and throw
 * `sandbox.missing` if no sandbox is available.
 */
export type Execution = ReturnType<typeof openExecution>;

interface Wanted {
  readonly args: JsonObject;
  /** Ids of existing blobs that the execution may read. */
  readonly blobs: readonly string[];
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal;
}

interface SkillExecution extends Wanted {
  readonly entry: SkillEntry;
  /** Name of the tool. Undefined if the skill has only one. */
  readonly tool: string | undefined;
}

interface CodeExecution extends Wanted {
  readonly code: string;
  readonly entrypoint: string;
  readonly packages: readonly RunnablePackage[];
}

const DEFAULT_TIMEOUT_MS = 60_000;
const MOST_TIMEOUT_MS = 600_000;
const LOG_PREVIEW = 4000;

export function openExecution(workspace: Workspace, blobs: Blobs) {
  /** Tools of available servers. An unreachable one is asked again. */
  const kept = new WeakMap<Skill, { readonly until: number; readonly listed: SkillEntry }>();
  const toolsOf = async (entry: SkillEntry, signal: AbortSignal) => {
    const known = kept.get(entry.skill);
    if (known && performance.now() < known.until) return known.listed;
    const { entries } = await listServers(workspace, [entry], { signal });
    const listed = entries.get(entry.skill.id) ?? entry;
    if (listed.unavailable === undefined) kept.set(entry.skill, { until: performance.now() + TOOLS_KEPT_MS, listed });
    return listed;
  };
  const underWay = new Set<Promise<unknown>>();
  const ahead = openPackagesAhead();
  const carryOut = (work: () => Promise<JsonObject>, signal: AbortSignal) => {
    const report: Promise<JsonObject> = inTurn(work, signal).finally(() => underWay.delete(report));
    underWay.add(report);
    return report;
  };
  const parts = async (wanted: Wanted) => ({
    host: workspace.skills.host,
    args: wanted.args,
    blobs: await Promise.all(wanted.blobs.map(async (id) => ({ id, file: await blobs.file(id) }))),
    limits: { wallMs: timeoutOf(wanted) },
    signal: wanted.signal,
  });
  return {
    execute: (wanted: SkillExecution) =>
      carryOut(async () => {
        const runnable = wanted.entry.package;
        if (!runnable) return callTool(workspace, blobs, wanted);
        if (!mayWrite(workspace.host) && wanted.entry.skill.tools.some(({ effect }) => effect === "write"))
          return failed({ type: "PolicyError", message: "it may write, which a policy does not allow here" }, "");
        const problems = schemaProblems(runnable.input, wanted.args);
        if (problems.length > 0)
          return failed({ type: "ValidationError", message: describeMisfit("invalid_input", problems) }, "");
        const secrets = handlerConfig(wanted.entry);
        const outcome = await runPackage({ ...(await parts(wanted)), package: runnable, mounts: [], secrets, ahead });
        return report(outcome, workspace, blobs, wanted.entry);
      }, wanted.signal),
    runCode: (wanted: CodeExecution) =>
      carryOut(async () => {
        const barred = forbidsSkill(workspace.host.policies ?? [], { id: "code", server: undefined, isServer: false });
        if (barred) return failed({ type: "PolicyError", message: `${barred.path} does not allow the skill code` }, "");
        const { code, entrypoint, packages } = wanted;
        const outcome = await runCode({ ...(await parts(wanted)), code, entrypoint, mounts: packages });
        return report(outcome, workspace, blobs);
      }, wanted.signal),
    /** Returns the skill with all its tools, including those of its MCP server. */
    withTools: async (entry: SkillEntry, signal: AbortSignal) => (entry.skill.mcp ? toolsOf(entry, signal) : entry),
    /** Waits for running executions, such as those of disconnected callers, and closes the prepared sandboxes. */
    async close(): Promise<void> {
      await Promise.allSettled(underWay);
      await ahead.close();
    },
  };
}

/** Time to cache the tools of a server, so that it is not started for every request. */
const TOOLS_KEPT_MS = 60_000;

function timeoutOf({ timeoutMs }: Wanted): number {
  return Math.min(timeoutMs ?? DEFAULT_TIMEOUT_MS, MOST_TIMEOUT_MS);
}

/** Calls a tool of a skill without a package, as a run does. */
async function callTool(workspace: Workspace, blobs: Blobs, wanted: SkillExecution): Promise<JsonObject> {
  const logs: string[] = [];
  const note = (message: string) => logs.push(message);
  const { skill } = wanted.entry;
  const outcome = await invokeSkill(
    workspace,
    {
      skill: skill.id,
      arguments: wanted.args,
      ...(wanted.tool === undefined ? {} : { tool: wanted.tool }),
      ...(skill.version === undefined ? {} : { version: skill.version }),
    },
    {
      timeoutMs: timeoutOf(wanted),
      signal: wanted.signal,
      loggerFor: () => ({ debug: () => undefined, info: note, warn: note }),
      blobs,
    },
  );
  const told = logs.join("\n");
  if ("error" in outcome) return failed({ type: TYPES[outcome.code] ?? "SkillError", message: outcome.error }, told);
  const ids = (outcome.blobs ?? []).map(({ blob_id }) => blob_id);
  return completed(outcome.output, ids, told);
}

const TYPES: { readonly [Code in Failure["code"]]?: string } = {
  "input.invalid": "ValidationError",
  "tool.timeout": "TimeoutError",
};

/** Redacts the outcome and stores large output as blobs. Code that the caller sent has no entry. */
async function report(
  outcome: RunOutcome,
  workspace: Workspace,
  blobs: Blobs,
  entry?: SkillEntry,
): Promise<JsonObject> {
  const redactor = environmentRedactor(workspace, [entry]);
  const logs = redactor.text(outcome.logs);
  if (outcome.status === "failed") {
    if (outcome.error.notStarted) throw new SkillflowError("sandbox.missing", outcome.error.message);
    return failed({ type: redactor.text(outcome.error.type), message: redactor.text(outcome.error.message) }, logs);
  }
  const ids = new Set<string>();
  const keeping: Blobs = {
    ...blobs,
    async create(content, kind) {
      const info = await blobs.create(content, kind);
      ids.add(info.blob_id);
      return info;
    },
  };
  try {
    const { output } = await keepMade(outcome, cleanBlobs(keeping, redactor));
    const told = await holdLarge(redactor.value(output), keeping);
    return completed(told, [...ids].sort(), logs);
  } catch (error) {
    if (!(error instanceof SkillflowError)) throw error;
    return failed({ type: "BlobError", message: error.message }, logs);
  }
}

function completed(output: Json, blobs: readonly string[], logs: string): JsonObject {
  const summary = `completed with ${describe(output)}`;
  const logs_preview = cutMiddle(logs, LOG_PREVIEW);
  return { status: "completed", run_id: newRunId(), summary, output, output_blobs: blobs, logs_preview };
}

function failed(error: { readonly type: string; readonly message: string }, logs: string): JsonObject {
  const summary = `failed: ${error.type}: ${error.message.split("\n")[0]?.slice(0, 200)}`;
  return { status: "failed", run_id: newRunId(), summary, error, logs_preview: cutMiddle(logs, LOG_PREVIEW) };
}

function newRunId(): string {
  return `run_${randomBytes(8).toString("hex")}`;
}

function describe(output: Json): string {
  if (output === null) return "nothing";
  if (Array.isArray(output)) return `a list of ${output.length}`;
  if (typeof output !== "object") return `a ${typeof output}`;
  const keys = Object.keys(output);
  return keys.length === 0 ? "an empty object" : `an object of ${keys.slice(0, 8).join(", ")}`;
}
