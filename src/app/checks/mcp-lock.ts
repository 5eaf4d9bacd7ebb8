import { SkillflowError, usageError } from "../../core/base/errors.ts";
import { deepEqual } from "../../core/base/values.ts";
import { LOCK_SCHEMA, type Lock, type LockedServer, lockedPlace, readLock, writeLock } from "../../loaders/mcp/lock.ts";
import { type Connecting, connectSkill } from "../adapters/mcp-connections.ts";
import { describeFault } from "../adapters/mcp-skills.ts";
import type { Workspace } from "../host.ts";
import { environmentRedactor } from "../secrets.ts";
import { allSkills } from "../skills/states.ts";
import type { InlineSkills, SkillEntry } from "../workspace.ts";

/** Skills that a workflow defines inline, and the workflow's file. */
export interface Brought {
  readonly file: string;
  readonly inline: InlineSkills;
}

export interface ServedSkill {
  readonly entry: SkillEntry;
  readonly inline?: InlineSkills;
}

/** Returns the skills with servers, of the project and of the workflows, each once. */
export async function servedSkills(workspace: Workspace, brought: readonly Brought[]): Promise<readonly ServedSkill[]> {
  const served = new Map<string, ServedSkill>();
  for (const entry of await allSkills(workspace)) if (hasServer(entry)) served.set(entry.skill.id, { entry });
  for (const { file, inline } of brought) {
    for (const id of Object.keys(inline.skills ?? {})) {
      const entry = await workspace.skills.find(id, inline);
      if (!entry || !hasServer(entry)) continue;
      const known = served.get(id);
      if (known && !deepEqual(known.entry.skill.mcp, entry.skill.mcp)) {
        const hint = "change one of the ids: the lock identifies servers by the ids of their skills";
        throw usageError(`${file}: another skill ${id} has a different MCP server`, hint);
      }
      if (!known) served.set(id, { entry, inline });
    }
  }
  return [...served.values()];
}

function hasServer({ skill, holdsServer }: SkillEntry): boolean {
  return skill.mcp !== undefined || holdsServer;
}

export async function lockServers(
  workspace: Workspace,
  served: readonly ServedSkill[],
  { signal, person }: Pick<Connecting, "signal" | "person">,
) {
  const { host, root } = workspace;
  const kept = readLock(root)?.servers ?? {};
  const entries = served.map(({ entry }) => entry).sort((a, b) => (a.skill.id < b.skill.id ? -1 : 1));
  const asked = entries.filter((entry) => whyNot(entry) === undefined);
  const redactor = environmentRedactor(workspace, asked);
  const warnings: string[] = [];
  const connecting = { host, redactor, signal, person };
  const answers = await Promise.all(
    asked.map(async (entry): Promise<{ id: string } & ({ reason: string } | { server: LockedServer })> => {
      const { id, mcp = {} } = entry.skill;
      const warn = (message: string) => void warnings.push(redactor.text(`the MCP server of ${id} ${message}`));
      const connection = await connectSkill(entry, connecting, warn);
      if ("reason" in connection) return { id, reason: connection.reason };
      await connection.close();
      const tools = Object.fromEntries(connection.tools.map(({ name, digest }) => [name, digest]));
      const usable = connection.skills.filter((skill) => !describeFault(skill, warn));
      const skills = Object.fromEntries(usable.map(({ uri, digests }) => [uri, digests]));
      return { id, server: { ...lockedPlace(mcp), tools, skills } };
    }),
  );
  if (signal.aborted) throw new SkillflowError("run.interrupted", "interrupted: skillflow.lock is unchanged");
  const locked = answers.filter((answer) => "server" in answer);
  const lock: Lock = {
    schema: LOCK_SCHEMA,
    servers: { ...kept, ...Object.fromEntries(locked.map(({ id, server }) => [id, server])) },
  };
  // The entries of servers that are left out or failed stay in the lock.
  return {
    path: await writeLock(root, lock),
    servers: Object.keys(lock.servers).length,
    locked: locked.map(({ id, server: { tools, skills = {} } }) => {
      return { id, tools: Object.keys(tools).length, skills: Object.keys(skills).length };
    }),
    leftOut: entries.flatMap((entry) => {
      const reason = whyNot(entry);
      return reason === undefined ? [] : [{ id: entry.skill.id, reason }];
    }),
    failed: answers.filter((answer) => "reason" in answer),
    warnings,
  };
}

function whyNot({ unavailable, withheld, holdsServer }: SkillEntry): string | undefined {
  return unavailable?.reason ?? (holdsServer ? withheld : undefined);
}
