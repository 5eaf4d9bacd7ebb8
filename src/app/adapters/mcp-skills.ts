import { messageOf } from "../../core/base/errors.ts";
import { defined } from "../../core/base/values.ts";
import { quote } from "../../loaders/mcp/offer/tools.ts";
import type { OfferedSkill } from "../../loaders/mcp/server-types.ts";
import { remoteEntry } from "../../loaders/registry/derived/remote.ts";
import type { SkillEntry } from "../workspace.ts";

const MOST_REASON = 500;

/** Skills of a connected server, without those that differ from the lock. */
export interface RemoteSkills {
  readonly skills: readonly OfferedSkill[];
  /** Reads the instructions. Undefined if only the list is needed. */
  readonly reading: { readonly signal: AbortSignal; readonly limitMs: number | undefined } | undefined;
}

/** Longest time for the texts that one entry of a node needs, so that a server cannot hold up the run. */
const READ_MS = 30_000;

function untilLate(reading: RemoteSkills["reading"]): RemoteSkills["reading"] {
  if (!reading) return undefined;
  const { signal, limitMs = READ_MS } = reading;
  return { ...reading, signal: AbortSignal.any([signal, AbortSignal.timeout(Math.min(limitMs, READ_MS))]) };
}

export async function offeredEntries(
  server: SkillEntry,
  { skills, reading }: RemoteSkills,
  warn: (message: string) => void,
): Promise<readonly SkillEntry[]> {
  const entries: SkillEntry[] = [];
  const timed = untilLate(reading);
  for (const skill of skills.filter(({ fault }) => fault === undefined)) {
    const entry = await openSkill(remoteEntry(server, skill.name), skill, timed);
    if (entry.unavailable) warn(describe(skill, entry.unavailable.reason));
    else entries.push(entry);
  }
  return entries;
}

/** Returns a node's remote skill with its text, or with the reason why it cannot be used. */
export async function namedEntry(entry: SkillEntry, name: string, remote: RemoteSkills): Promise<SkillEntry> {
  const named = remote.skills.filter((skill) => skill.name === name);
  const skill = named.find(({ fault }) => fault === undefined) ?? named[0];
  if (!skill) return without(entry, "its MCP server offers no skill of this name");
  return skill.fault === undefined ? openSkill(entry, skill, untilLate(remote.reading)) : without(entry, skill.fault);
}

async function openSkill(
  entry: SkillEntry,
  skill: OfferedSkill,
  reading: RemoteSkills["reading"],
): Promise<SkillEntry> {
  const { description, files, read } = skill;
  try {
    const instruction = reading && (await skill.instruction(reading));
    const opened = { ...entry.skill, description, ...defined("instruction", instruction) };
    const remote = entry.remote && { ...entry.remote, files, read };
    return { ...entry, skill: opened, ...defined("remote", remote) };
  } catch (error) {
    return without(entry, `its SKILL.md cannot be used: ${messageOf(error).slice(0, MOST_REASON)}`);
  }
}

function without(entry: SkillEntry, reason: string): SkillEntry {
  return { ...entry, unavailable: { kind: "server", reason } };
}

export function describeFault(skill: OfferedSkill, warn: (message: string) => void): boolean {
  if (skill.fault === undefined) return false;
  warn(describe(skill, skill.fault));
  return true;
}

function describe({ uri }: OfferedSkill, reason: string): string {
  return `offers the skill ${quote(uri)}, which is left out: ${reason}`;
}
