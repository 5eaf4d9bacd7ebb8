import { messageOf, SkillflowError } from "../../core/base/errors.ts";
import { cutMiddle } from "../../core/base/preview.ts";
import type { Redactor } from "../../core/base/redact/redact.ts";
import { defined } from "../../core/base/values.ts";
import { isReservedTool } from "../../core/engine/tools/own-tools.ts";
import type { Unavailable } from "../../core/skill/availability/unavailable.ts";
import type { Skill, Tool } from "../../core/skill/skill.ts";
import { exposedName } from "../../core/skill/tool-names.ts";
import { projectRoot } from "../../loaders/documents/project-config.ts";
import { UNCONNECTED } from "../../loaders/mcp/call.ts";
import type { McpConnection } from "../../loaders/mcp/client.ts";
import { type Difference, holdSkillsToLock, holdToLock, type Lock, readLock } from "../../loaders/mcp/lock.ts";
import { loginFolder, type Person } from "../../loaders/mcp/login/logins.ts";
import { type Links, READ_PROMPT, READ_RESOURCE } from "../../loaders/mcp/offer/links.ts";
import { documentsOf, type Host, processesOf } from "../host.ts";
import { mapEntries, type SkillEntries } from "../skills/entries.ts";
import type { SkillEntry } from "../workspace.ts";
import { openFetch } from "./fetch.ts";
import { describeFault, namedEntry, offeredEntries, type RemoteSkills } from "./mcp-skills.ts";

export interface Servers {
  /** The given entries with the tools of their servers. If a server is unreachable, only the skill's own tools. */
  readonly entries: SkillEntries;
  readonly warnings: readonly string[];
  readonly differences: readonly LockDifference[];
  /** Resolves once all connections are closed and all server processes have ended. */
  close(): Promise<void>;
}

export type { Person };

export interface Connecting {
  readonly host: Host;
  readonly redactor: Redactor;
  /** Skips servers that are started by a command, because a program could contact any host. */
  readonly offline?: boolean | undefined;
  /** Aborts connecting and closes what was opened. */
  readonly signal: AbortSignal;
  /** Timeout for a server's answer, at most 30 s. The run continues without servers that exceed it. */
  readonly limitMs?: number | undefined;
  /** Throws, and closes all connections, if a server is not in the lock or differs from it. */
  readonly frozen?: boolean | undefined;
  /** Returns the links that a skill's server may read in a run. Without it, reader tools are not offered. */
  readonly links?: ((skill: string) => Links) | undefined;
  /** Handles logins that a server asks for. Undefined if no user is present. */
  readonly person?: Person | undefined;
}

/** Returns the skills of a dry run, which does not connect their servers. */
export function withoutServers(entries: SkillEntries): SkillEntries {
  return mapEntries(entries, (entry) => {
    const isServed = (entry.skill.mcp ?? entry.remote) !== undefined && entry.unavailable === undefined;
    return isServed ? withoutServer(entry, { kind: "unconnected", reason: UNCONNECTED }) : entry;
  });
}

/** Connects the servers of all available skills in parallel. Leaves out tools and skills that differ from the lock. */
export async function connectServers(entries: SkillEntries, given: Connecting): Promise<Servers> {
  const isRequired = given.host.policies?.some(({ policy }) => policy.require_frozen);
  const connecting = { ...given, frozen: given.frozen || isRequired };
  const served = serversOf(entries);
  const lock = served.size === 0 ? undefined : readLock(projectRoot(documentsOf(connecting.host)));
  if (connecting.frozen) requireLocked(new Set(served.keys()), lock);
  const opening: Opening = { ...connecting, lock, connections: [], warnings: [], differences: [] };
  const { connections, warnings, differences } = opening;
  const close = async () => {
    await Promise.all(connections.map((connection) => connection.close()));
  };
  const opened = new Map(
    await Promise.all([...served].map(async ([id, entry]) => [id, await openServer(entry, opening)] as const)),
  );
  const connected = await Promise.all([...entries].map((each) => connectEntry(each, opened, { ...opening, entries })));
  if (connecting.signal.aborted) {
    await close();
    throw new SkillflowError("run.interrupted", `${messageOf(connecting.signal.reason)} before the run started`);
  }
  if (connecting.frozen && differences.length > 0) {
    await close();
    throw frozen(differences.map(({ text }) => text).join("; "));
  }
  return { entries: new Map(connected.flat()), warnings, differences, close };
}

/** Returns the available skills with servers, by id, including those whose skills are listed one by one. */
function serversOf(entries: SkillEntries): ReadonlyMap<string, SkillEntry> {
  const all = [...entries.values()].map((entry) => entry?.remote?.server ?? entry);
  const served = all.filter((entry) => entry?.skill.mcp && entry.unavailable === undefined);
  return new Map(served.flatMap((entry) => (entry ? [[entry.skill.id, entry]] : [])));
}

export interface LockDifference extends Difference {
  readonly skill: string;
}

interface Opening extends Connecting {
  readonly lock: Lock | undefined;
  readonly connections: McpConnection[];
  readonly warnings: string[];
  readonly differences: LockDifference[];
}

type OpenedServer = { readonly reason: string } | { readonly tools: readonly Tool[]; readonly remote: RemoteSkills };

/** Connects a server. Returns its tools and skills without those that differ from the lock. */
async function openServer(entry: SkillEntry, opening: Opening): Promise<OpenedServer> {
  const { skill, said } = entry;
  const warn = warner(skill.id, opening);
  const locked = lockedOf(opening.lock, skill.id);
  const result = await connectSkill(entry, { ...opening, isLocked: locked !== undefined }, warn);
  if ("reason" in result) return result;
  opening.connections.push(result);
  for (const offered of result.skills) describeFault(offered, warn);
  const held = locked ? holdToLock(result.tools, skill.mcp ?? {}, locked) : { tools: result.tools, differences: [] };
  const remote = locked ? holdSkillsToLock(result.skills, locked) : { skills: result.skills, differences: [] };
  if ("note" in remote && remote.note) warn(remote.note);
  const differences = [...held.differences, ...remote.differences];
  for (const difference of differences) {
    opening.differences.push({ ...difference, skill: skill.id, text: warn(difference.text) });
  }
  const offered = [...held.tools.map(({ digest: _, ...tool }) => tool), ...result.readers];
  const tools = offered.map((tool) => ({ ...said.get(tool.name), ...tool }));
  const listed = new Set([...tools.map(({ name }) => name), READ_RESOURCE, READ_PROMPT]);
  for (const name of Object.keys(skill.mcp?.effects ?? {})) {
    if (!listed.has(name)) warn(`has no tool ${name}, for which an effect is set`);
  }
  return {
    tools,
    remote: { skills: remote.skills, reading: opening.links && { signal: opening.signal, limitMs: opening.limitMs } },
  };
}

/** Returns why a tool of a skill's server is left out, if it differs from skillflow.lock. */
export function differenceOf(differences: readonly LockDifference[], skill: string, tool: string): string | undefined {
  return differences.find((one) => one.skill === skill && one.tool === tool)?.text;
}

function warner(id: string, { warnings, redactor }: Opening) {
  return (message: string) => {
    const warning = `the MCP server of ${id} ${cutMiddle(redactor.text(message), MOST_SAID)}`;
    warnings.push(warning);
    return warning;
  };
}

/** Returns an entry with what its server offers, and entries for the server's skills. */
async function connectEntry(
  [id, entry]: readonly [string, SkillEntry | undefined],
  opened: ReadonlyMap<string, OpenedServer>,
  { entries, ...opening }: Opening & Pick<Servers, "entries">,
): Promise<(readonly [string, SkillEntry | undefined])[]> {
  const server = opened.get(entry?.remote?.server.skill.id ?? entry?.skill.id ?? id);
  if (!entry || !server || entry.unavailable !== undefined) return [[id, entry]];
  if ("reason" in server) return [[id, withoutServer(entry, { kind: "server", reason: server.reason })]];
  if (entry.remote) return [[id, await namedEntry(entry, entry.remote.name, server.remote)]];
  if (!entry.skill.mcp) return [[id, entry]];
  const warn = warner(id, opening);
  const skills = server.remote.skills.filter(({ name }) => !entries.has(`${id}/${name}`));
  const remote = await offeredEntries(entry, { ...server.remote, skills }, warn);
  const connected = { ...entry, skill: withTools(entry.skill, server.tools, warn) };
  return [[id, connected], ...remote.map((each) => [each.skill.id, each] as const)];
}

const MOST_SAID = 2000;

function lockedOf(lock: Lock | undefined, id: string) {
  return lock && Object.hasOwn(lock.servers, id) ? lock.servers[id] : undefined;
}

function requireLocked(ids: ReadonlySet<string>, lock: Lock | undefined): void {
  const missing = [...ids].filter((id) => lockedOf(lock, id) === undefined);
  if (missing.length === 0) return;
  const where = lock ? "skillflow.lock does not contain" : "there is no skillflow.lock, which must contain";
  throw frozen(`${where} the MCP server of ${missing.join(", ")}`);
}

function frozen(what: string): SkillflowError {
  return new SkillflowError("lock.differs", `nothing ran: ${what}`, {
    hint: "review what the server offers now, then pin it: skillflow mcp-lock",
  });
}

/** Keeps the skill's own tools. A skill without any becomes unavailable. */
function withoutServer(entry: SkillEntry, why: Unavailable): SkillEntry {
  const { mcp: _, ...skill } = entry.skill;
  return skill.tools.length > 0 ? { ...entry, skill, withheld: why.reason } : { ...entry, unavailable: why };
}

const OFFLINE = "its MCP server is a command, which was not started: the run is offline";

export async function connectSkill(
  { skill, contents }: Pick<SkillEntry, "skill" | "contents">,
  { host, redactor, ...connecting }: Connecting & { readonly isLocked?: boolean },
  onWarning: (message: string) => void,
): Promise<McpConnection | { readonly reason: string }> {
  const { offline, signal, limitMs, person, links, isLocked = false } = connecting;
  if (offline && skill.mcp?.command !== undefined) return { reason: OFFLINE };
  const { openMcp } = await import("../../loaders/mcp/client.ts");
  const { env, cwd } = host;
  try {
    return await openMcp({
      id: skill.id,
      config: skill.mcp ?? {},
      env,
      cwd,
      check: () => contents?.check(),
      processes: processesOf(host),
      fetch: openFetch(env, offline),
      signal,
      isLocked,
      auth: { folder: loginFolder(env, cwd), person },
      ...defined("timeoutMs", limitMs),
      ...defined("links", links?.(skill.id)),
      onWarning,
    });
  } catch (error) {
    return { reason: `its MCP server cannot be used: ${cutMiddle(redactor.text(messageOf(error)), MOST_SAID)}` };
  }
}

/** Adds the server's tools after the skill's own, which win if names clash. */
function withTools(skill: Skill, offered: readonly Tool[], warn: (message: string) => void): Skill {
  const taken = new Set(skill.tools.map((tool) => exposedName(skill.id, tool.name)));
  const added = offered.filter((tool) => {
    const name = exposedName(skill.id, tool.name);
    const isHidden = taken.has(name);
    const isReserved = isReservedTool(skill.id, tool.name);
    if (isHidden) warn(`offers a tool ${name}, which is hidden by the skill's own tool of that name`);
    if (isReserved) warn(`offers a tool ${name}, which is left out: skillflow has a tool of that name`);
    return !isHidden && !isReserved;
  });
  return { ...skill, tools: [...skill.tools, ...added] };
}
