import { messageOf, SkillflowError } from "../../core/base/errors.ts";
import { cutMiddle } from "../../core/base/preview.ts";
import type { Redactor } from "../../core/base/redact/redact.ts";
import { defined } from "../../core/base/values.ts";
import { isReservedTool } from "../../core/engine/tools/own-tools.ts";
import type { Unavailable } from "../../core/skill/availability/unavailable.ts";
import type { McpServerConfig, Skill, Tool } from "../../core/skill/skill.ts";
import { exposedName } from "../../core/skill/tool-names.ts";
import { projectRoot } from "../../loaders/documents/project-config.ts";
import { UNCONNECTED } from "../../loaders/mcp/call.ts";
import type { McpConnection, ServedTool } from "../../loaders/mcp/client.ts";
import { holdToLock, type Lock, readLock } from "../../loaders/mcp/lock.ts";
import { loginFolder, type Person } from "../../loaders/mcp/login/logins.ts";
import { type Links, READ_PROMPT, READ_RESOURCE } from "../../loaders/mcp/offer/links.ts";
import { documentsOf, type Host, processesOf } from "../host.ts";
import type { SkillEntries } from "../skills/entries.ts";
import type { SkillEntry } from "../workspace.ts";

/** Connected MCP servers of a run's skills. */
export interface Servers {
  /** The given entries with the tools of their servers. If a server is unreachable, only the skill's own tools. */
  readonly entries: SkillEntries;
  readonly warnings: readonly string[];
  /** Resolves once all connections are closed and all server processes have ended. */
  close(): Promise<void>;
}

export type { Person };

export interface Connecting {
  readonly host: Host;
  readonly fetch: typeof fetch;
  /** Redacts secrets in messages from servers. */
  readonly redactor: Redactor;
  /** Skips servers that are started by a command, because a program could contact any host. */
  readonly offline: boolean | undefined;
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
  const left = [...entries].map(([id, entry]) => {
    const isServed = entry?.skill.mcp !== undefined && entry.unavailable === undefined;
    return [id, isServed ? withoutServer(entry, { kind: "unconnected", reason: UNCONNECTED }) : entry] as const;
  });
  return new Map(left);
}

/** Connects the servers of all available skills in parallel. Leaves out tools that differ from the lock. */
export async function connectServers(entries: SkillEntries, connecting: Connecting): Promise<Servers> {
  const served = [...entries.values()].filter((entry) => entry?.skill.mcp && entry.unavailable === undefined);
  const lock = served.length === 0 ? undefined : readLock(projectRoot(documentsOf(connecting.host)));
  if (connecting.frozen) requireLocked(new Set(served.flatMap((entry) => entry?.skill.id ?? [])), lock);
  const connections: McpConnection[] = [];
  const warnings: string[] = [];
  const differing: string[] = [];
  const close = async () => {
    await Promise.all(connections.map((connection) => connection.close()));
  };
  const connected = await Promise.all(
    [...entries].map(async ([id, entry]) => {
      if (!entry?.skill.mcp || entry.unavailable !== undefined) return [id, entry] as const;
      const warn = (message: string) =>
        void warnings.push(`the MCP server of ${id} ${cutMiddle(connecting.redactor.text(message), MOST_SAID)}`);
      const locked = lockedOf(lock, entry.skill.id);
      const result = await connectSkill(entry, { ...connecting, isLocked: locked !== undefined }, warn);
      if ("reason" in result) return [id, withoutServer(entry, { kind: "server", reason: result.reason })] as const;
      connections.push(result);
      const held = locked
        ? holdToLock(result.tools, entry.skill.mcp, locked)
        : { tools: result.tools, differences: [] };
      for (const difference of held.differences) warn(difference);
      if (held.differences.length > 0) differing.push(entry.skill.id);
      const offered = [...held.tools.map(withoutDigest), ...result.readers];
      const tools = offered.map((tool) => ({ ...entry.said.get(tool.name), ...tool }));
      for (const name of unlisted(entry.skill.mcp, tools)) warn(`has no tool ${name}, for which an effect is set`);
      return [id, { ...entry, skill: withTools(entry.skill, tools, warn) }] as const;
    }),
  );
  if (connecting.signal.aborted) {
    await close();
    throw new SkillflowError("run.interrupted", `${messageOf(connecting.signal.reason)} before the run started`);
  }
  if (connecting.frozen && differing.length > 0) {
    await close();
    throw frozen(warnings.join("; "));
  }
  return { entries: new Map(connected), warnings, close };
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
    hint: "review the tools that the server offers now, then pin them: skillflow mcp-lock",
  });
}

function withoutDigest({ digest: _, ...tool }: ServedTool): Tool {
  return tool;
}

function unlisted({ effects = {} }: McpServerConfig, tools: readonly Tool[]): readonly string[] {
  const listed = new Set([...tools.map(({ name }) => name), READ_RESOURCE, READ_PROMPT]);
  return Object.keys(effects).filter((name) => !listed.has(name));
}

/** Keeps the skill's own tools. A skill without any becomes unavailable. */
function withoutServer(entry: SkillEntry, why: Unavailable): SkillEntry {
  const { mcp: _, ...skill } = entry.skill;
  return skill.tools.length > 0 ? { ...entry, skill, withheld: why.reason } : { ...entry, unavailable: why };
}

const OFFLINE = "its MCP server is a command, which was not started: the run is offline";

/** Connects a skill's server, or returns the reason why it failed. */
export async function connectSkill(
  { skill, contents }: Pick<SkillEntry, "skill" | "contents">,
  { host, redactor, ...connecting }: Connecting & { readonly isLocked?: boolean },
  onWarning: (message: string) => void,
): Promise<McpConnection | { readonly reason: string }> {
  const { fetch, signal, limitMs, person, links, isLocked = false } = connecting;
  if (connecting.offline && skill.mcp?.command !== undefined) return { reason: OFFLINE };
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
      fetch,
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
