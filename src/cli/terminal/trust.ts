import type { Person } from "../../app/adapters/mcp-connections.ts";
import { type ReadWorkflow, recordedSkills } from "../../app/documents.ts";
import type { Workspace } from "../../app/host.ts";
import {
  type InlineSkills,
  openWorkspace,
  rememberTrust,
  type SkillEntry,
  type TrustEntry,
} from "../../app/workspace.ts";
import { messageOf } from "../../core/base/errors.ts";
import { plainLine } from "../../core/base/inert.ts";
import { isCi } from "../ci/ci.ts";
import { projectOptions } from "../flags.ts";
import { confirms, continuedRun, type Flags, type Io } from "../io.ts";
import { painter } from "./terminal.ts";

type Read = Pick<ReadWorkflow, "workflow" | "inline">;

/** Opens the project. Asks the user to trust the skills that the workflow uses. */
export function openTrusted(io: Io, flags: Flags, read: (workspace: Workspace) => Promise<Read>): Promise<Workspace> {
  return openAsking(io, flags, async (opened) => {
    const { workflow, inline } = await read(opened);
    const used = new Set(Object.values(workflow?.nodes ?? {}).flatMap((node) => node.skills ?? []));
    const owners = new Set([...used].map((reference) => opened.skills.owner(reference)));
    return [...owners].map((reference) => ({ reference, inline }));
  });
}

/** Opens the project for the run that the command continues. Asks the user to trust the skills of its record. */
export function openRecorded(io: Io, flags: Flags): Promise<Workspace> {
  const { workflow } = continuedRun(io).record;
  return openTrusted(io, flags, async () => ({ workflow, inline: recordedSkills(workflow) }));
}
interface AskedSkill {
  readonly reference: string;
  readonly inline?: InlineSkills;
}

/** Opens the project. On a terminal outside CI, asks once about each untrusted skill and allows those the user accepts. */
export async function openAsking(
  io: Io,
  flags: Flags,
  find: (workspace: Workspace) => Promise<readonly AskedSkill[]>,
): Promise<Workspace> {
  const options = projectOptions(flags);
  const workspace = openWorkspace(io.host, options);
  if (!io.ask || isCi(io.host.env)) return workspace;
  const allowed = await askAbout(io, flags, workspace, await find(workspace));
  if (allowed.length === 0) return workspace;
  if (!io.host.documents) await remember(io, workspace, allowed);
  return openWorkspace(io.host, { ...options, skillFlags: { ...options.skillFlags, allowed } });
}

/** Returns the user who can log in to MCP servers. Undefined in CI or without a terminal. */
export function personAt(io: Io): Person | undefined {
  if (!io.ask || isCi(io.host.env)) return undefined;
  return {
    tell(id, address) {
      void io.err(
        `? The MCP server of ${plainLine(id)} wants you to log in. Open in a browser on this machine:\n  ${plainLine(address)}\n`,
      );
    },
  };
}

/** Asks about each untrusted skill. Returns the path and current digest of each part that the user allows. */
async function askAbout(
  io: Io,
  flags: Flags,
  { skills, choices }: Workspace,
  asked: readonly AskedSkill[],
): Promise<TrustEntry[]> {
  const allowed: TrustEntry[] = [];
  for (const { reference, inline } of asked) {
    const { parts = [] } = skills.withheld(reference, inline) ?? {};
    const entry = parts.length > 0 ? await skills.find(reference, inline) : undefined;
    if (!entry || choices.disabled.includes(entry.skill.id)) continue;
    const at = new Date().toISOString();
    const answers = parts.flatMap(({ path, digest }): TrustEntry[] => {
      const now = digest();
      return now === undefined ? [] : [{ id: entry.skill.id, path, digest: now, at }];
    });
    if (answers.length < parts.length) continue;
    await io.err(describeCode(io, flags, entry));
    if (await confirms(io, "  Trust it until its files change?")) allowed.push(...answers);
  }
  return allowed;
}

/** Describes an untrusted skill. An untrusted author chose its names and paths, so none may start a new line. */
function describeCode(io: Io, flags: Flags, { skill, format, source, heldBack }: SkillEntry): string {
  const paint = painter(io, flags);
  const lines = [
    `${paint("yellow", "?")} The skill ${paint("bold", plainLine(skill.id))} (${format}) needs your permission:`,
    `  from ${plainLine(source.path ?? "the workflow")}`,
    ...heldBack.map((effect) => `  ${plainLine(effect)}`),
  ];
  return `${lines.join("\n")}\n`;
}

async function remember(io: Io, workspace: Workspace, allowed: readonly TrustEntry[]): Promise<void> {
  try {
    const path = await rememberTrust(workspace, allowed);
    await io.err(`  saved in ${path}\n`);
  } catch (error) {
    await io.err(`  allowed for this run only, because the decision cannot be saved: ${messageOf(error)}\n`);
  }
}
