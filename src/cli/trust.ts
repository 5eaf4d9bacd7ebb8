import { messageOf } from "../core/errors.ts";
import type { Workflow } from "../core/workflow.ts";
import { openProject, type Project, rememberTrust, type SkillEntry, type TrustEntry } from "../project.ts";
import { NO_FLAGS } from "../skill-choices.ts";
import { projectOptions } from "./flags.ts";
import type { Flags, Io } from "./main.ts";
import { plainLine } from "./reports/inert.ts";
import { painter } from "./terminal.ts";

/**
 * The project with the code of those skills allowed that a person lets run. On a terminal they are asked once about
 * each skill that the workflow uses and that is held back; elsewhere nobody is asked (trust 6).
 */
export async function openTrusted(
  io: Io,
  flags: Flags,
  workflowOf: (project: Project) => Promise<Workflow | undefined>,
): Promise<Project> {
  const options = projectOptions(flags);
  const project = openProject(io.host, options);
  if (!io.ask || io.host.env.CI) return project;
  const workflow = await workflowOf(project);
  const allowed = workflow ? await askAbout(io, flags, project, workflow) : [];
  if (allowed.length === 0) return project;
  await remember(io, project, allowed);
  const { skillFlags = NO_FLAGS } = options;
  return openProject(io.host, { ...options, skillFlags: { ...skillFlags, allowed } });
}

/** Each skill that may run: where it is, and as its files are now. */
async function askAbout(io: Io, flags: Flags, project: Project, workflow: Workflow): Promise<TrustEntry[]> {
  const allowed: TrustEntry[] = [];
  const { skills, choices } = project;
  const used = new Set(Object.values(workflow.nodes).flatMap((node) => node.skills ?? []));
  for (const id of used) {
    if (skills.withheld(id, workflow.skills) === undefined) continue;
    const [entry, contents] = [await skills.find(id, workflow.skills), skills.contents(id)];
    const digest = contents?.digest();
    if (!entry || !contents || digest === undefined || choices.disabled.includes(entry.skill.id)) continue;
    await io.err(describeCode(io, flags, entry));
    const answer = await io.ask?.("  Let it run, now and until its files change? [y/N] ");
    if (!/^y(es)?$/i.test(answer?.trim() ?? "")) continue;
    allowed.push({ id: entry.skill.id, path: contents.path, digest, at: new Date().toISOString() });
  }
  return allowed;
}

/** Names and paths are a stranger's text, so each stays on its line. */
function describeCode(io: Io, flags: Flags, { skill, format, source, heldBack }: SkillEntry): string {
  const paint = painter(io, flags);
  const lines = [
    `${paint("yellow", "?")} The skill ${paint("bold", plainLine(skill.id))} (${format}) does what nobody has allowed yet.`,
    `  from ${plainLine(source.path ?? "")}`,
    ...heldBack.map((effect) => `  ${plainLine(effect)}`),
  ];
  return `${lines.join("\n")}\n`;
}

async function remember(io: Io, project: Project, allowed: readonly TrustEntry[]): Promise<void> {
  try {
    const path = rememberTrust(project, allowed);
    await io.err(`  remembered in ${path}\n`);
  } catch (error) {
    await io.err(`  allowed for this run only, because it could not be remembered: ${messageOf(error)}\n`);
  }
}
