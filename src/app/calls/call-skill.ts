import type { Blobs } from "../../core/base/blobs.ts";
import { callCodeOf, messageOf, SkillflowError } from "../../core/base/errors.ts";
import type { Redactor } from "../../core/base/redact/redact.ts";
import type { Json, JsonObject } from "../../core/base/values.ts";
import { describeTools, type Logger, type Outcome, refusedCall, type ToolDescriptor } from "../../core/skill/skill.ts";
import type { Invocation } from "../../loaders/folder/host.ts";
import { openLinks } from "../../loaders/mcp/offer/links.ts";
import { handlerConfig, recordSkill } from "../../loaders/registry/entry.ts";
import { type Chosen, chooseTool } from "../../loaders/registry/invoke.ts";
import { createCall } from "../../run/call.ts";
import { inTurn } from "../../run/queue.ts";
import { BLOB_READERS } from "../../run/results/blob-tools.ts";
import { openFetch } from "../adapters/fetch.ts";
import { type Connecting, connectServers, differenceOf, type Servers } from "../adapters/mcp-connections.ts";
import type { Host, Workspace } from "../host.ts";
import { environmentRedactor } from "../secrets.ts";
import { gatherCalled } from "../skills/entries.ts";
import { callableSkills } from "../skills/states.ts";
import type { SkillEntry } from "../workspace.ts";

export interface InvokeOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly loggerFor: (skill: string) => Logger;
  readonly blobs: Blobs;
  /** Makes no network requests except to this machine. */
  readonly offline?: boolean;
  /** Refuses tools of MCP servers that are not in skillflow.lock or differ from it. */
  readonly frozen?: boolean | undefined;
  /** Largest result in characters. Larger ones become blobs. Defaults to the limit of runs. */
  readonly mostResult?: number;
}

/**
 * Calls a tool of a skill with the same redaction and limits as in a run. If the call cannot be made, the outcome is
 * a failure. Throws `calls.full` if too many calls are waiting.
 */
export function invokeSkill(workspace: Workspace, call: Invocation, options: InvokeOptions): Promise<Outcome> {
  const held = mayWrite(workspace.host) ? call : { ...call, effects: "read" as const };
  return inTurn(() => invoke(workspace, held, options), options.signal);
}

/** Checks whether the policies allow single calls that write, which no plan can hold. */
export function mayWrite({ policies = [] }: Pick<Host, "policies">): boolean {
  return policies.every(({ policy: { writes = "allow" } }) => writes === "allow");
}

async function invoke(workspace: Workspace, call: Invocation, options: InvokeOptions): Promise<Outcome> {
  const { skills, host } = workspace;
  const named = call.version === undefined ? [] : [`${call.skill}@${call.version}`];
  const entries = await gatherCalled(skills, [call.skill, ...named]);
  const redactor = environmentRedactor(workspace, entries.values());
  const opened: Servers[] = [];
  const find = async (reference: string) => {
    const entry = await skills.find(reference);
    if (!entry?.skill.mcp) return entry;
    const { offline, frozen, signal, timeoutMs: limitMs } = options;
    const connecting = { host, redactor, offline, frozen, signal, limitMs };
    const servers = await connectServers(new Map([[reference, entry]]), connecting);
    opened.push(servers);
    return servers.entries.get(reference);
  };
  try {
    const chosen = await chooseTool({ find }, call).catch((error: unknown) => ({ refusal: error }));
    if ("refusal" in chosen) {
      const differences = opened.flatMap((servers) => servers.differences);
      const why = differenceOf(differences, call.skill, call.tool ?? "") ?? messageOf(chosen.refusal);
      return refusedCall(redactor.text(why), callCodeOf(chosen.refusal));
    }
    if (chosen.misfit !== undefined) return refusedCall(redactor.text(chosen.misfit), "input.invalid");
    return await callTool(workspace, { ...chosen, run: "invoke", input: call.arguments }, { ...options, redactor });
  } finally {
    for (const servers of opened) await servers.close();
  }
}

/**
 * Returns skills with what their MCP servers offer now, and disconnects the servers again. Skills whose servers cannot
 * be reached are unavailable.
 */
export async function listServers(
  workspace: Workspace,
  given: readonly SkillEntry[],
  how: Omit<Connecting, "host" | "redactor">,
): Promise<Omit<Servers, "close">> {
  const connecting = { host: workspace.host, redactor: environmentRedactor(workspace, given), ...how };
  const { close, ...servers } = await connectServers(
    new Map(given.map((entry) => [entry.skill.id, entry])),
    connecting,
  );
  await close();
  return servers;
}

/** Time limit for a list of skills. */
const LIST_MS = 5000;

/**
 * Adds the skills that the servers of available skills offer, sorted by id. Servers that cannot be reached are left as
 * they are. With `reads`, the skills have their instructions.
 */
export async function withRemoteSkills(
  workspace: Workspace,
  entries: readonly SkillEntry[],
  { signal, reads = false }: { readonly signal: AbortSignal; readonly reads?: boolean },
): Promise<{ readonly entries: readonly SkillEntry[]; readonly warnings: readonly string[] }> {
  const links = reads ? () => openLinks() : undefined;
  const servers = await listServers(workspace, entries, { signal, limitMs: LIST_MS, links });
  const remote = [...servers.entries.values()].filter((entry) => entry?.remote !== undefined);
  const found = new Map([...entries, ...remote].flatMap((entry) => (entry ? [[entry.skill.id, entry]] : [])));
  return {
    entries: [...found.values()].sort((a, b) => (a.skill.id < b.skill.id ? -1 : 1)),
    warnings: servers.warnings,
  };
}

export async function callTool(
  { host }: Workspace,
  { run, entry, tool, input }: Pick<Chosen, "entry" | "tool"> & { readonly run: string; readonly input: Json },
  { signal, offline, ...options }: InvokeOptions & { readonly redactor: Redactor },
): Promise<Outcome> {
  const [descriptor] = describeTools(entry.skill, [tool]);
  if (!descriptor) return refusedCall(`skill ${entry.skill.id} has no tool to call`, "tool.unknown");
  const call = createCall({
    run,
    findHandler: () => ({ tool, config: handlerConfig(entry) }),
    workDir: host.cwd,
    fetch: openFetch(host.env, offline),
    offline,
    ...options,
  });
  return call({ key: entry.skill.id, tool: descriptor, input }, signal).catch((error: unknown) => {
    // The handler has run, but storing its result failed.
    const acted = descriptor.effect === "write" ? "unknown" : "no";
    return { error: options.redactor.text(messageOf(error)), code: callCodeOf(error), acted };
  });
}

/** A usable skill, and its tools as other programs see them. */
export interface OfferedSkill {
  readonly entry: SkillEntry;
  readonly tools: readonly ToolDescriptor[];
}

/**
 * Lists the available skills, sorted by id. Starts their MCP servers to list the tools, then stops them. Warnings
 * report unusable skills, unreachable servers and untrusted code.
 */
export async function offeredSkills(
  workspace: Workspace,
  { offline, frozen, signal }: Pick<Connecting, "offline" | "frozen" | "signal">,
): Promise<{ readonly offered: readonly OfferedSkill[]; readonly warnings: readonly string[] }> {
  const found = await callableSkills(workspace);
  const usable = found.filter(({ unavailable }) => unavailable === undefined);
  const { entries, warnings } = await listServers(workspace, usable, { offline, frozen, signal });
  const lost = [...entries].flatMap(([id, entry]) =>
    entry?.unavailable ? [`${id}: ${entry.unavailable.reason}`] : [],
  );
  const offered = [...entries].flatMap(([id, entry]) => {
    return entry && entry.unavailable === undefined
      ? [{ entry, tools: recordSkill(id, entry).tools as readonly ToolDescriptor[] }]
      : [];
  });
  const held = found.flatMap(({ skill, withheld }) => (withheld ? [`${skill.id}: ${withheld}`] : []));
  return { offered, warnings: [...held, ...describeOmitted(found), ...warnings, ...lost] };
}

/** Explains why skills are not offered. Skills with unset variables share one line, because there are many. */
function describeOmitted(found: readonly SkillEntry[]): string[] {
  const omitted = found.filter(({ unavailable }) => unavailable && unavailable.kind !== "untrusted");
  const isUnset = ({ unavailable, isLacking }: SkillEntry) => unavailable?.kind === "config_missing" && !isLacking;
  const unset = omitted.filter(isUnset).map(({ skill }) => skill.id);
  return [
    ...omitted.filter((entry) => !isUnset(entry)).map(({ skill, unavailable: why }) => `${skill.id}: ${why?.reason}`),
    ...(unset.length > 0
      ? [`not offered, since config is missing (skillflow doctor shows it): ${unset.join(", ")}`]
      : []),
  ];
}

/** Calls one of the tools that read blobs. The input must be valid. */
export async function readOn(
  { name, input }: { readonly name: string; readonly input: JsonObject },
  { blobs, signal }: Pick<InvokeOptions, "blobs" | "signal">,
): Promise<Outcome> {
  try {
    const read = BLOB_READERS[name];
    if (!read) return refusedCall(`skillflow has no built-in tool ${name}`, "tool.unknown");
    return { output: await inTurn(() => read(blobs, input), signal) };
  } catch (error) {
    if (error instanceof SkillflowError && error.code === "calls.full") throw error;
    return refusedCall(messageOf(error), callCodeOf(error));
  }
}
