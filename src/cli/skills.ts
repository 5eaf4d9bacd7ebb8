import { SkillflowError } from "../core/errors.ts";
import { describeTools } from "../core/skill.ts";
import { nearest } from "../core/values.ts";
import { openProject, type Project, type SkillEntry } from "../project.ts";
import { projectOptions } from "./flags.ts";
import type { Action, Io } from "./main.ts";
import { plainText } from "./reports/inert.ts";
import { amount, describeDiagnostic, jsonText, oneLine, type Paint, painter } from "./terminal.ts";

export const listSkills: Action = async (io, _args, flags) => {
  const project = openProject(io.host, projectOptions(flags));
  const entries = await allSkills(project);
  const { diagnostics } = project.skills;
  if (flags.json === true) {
    await io.out(jsonText({ skills: entries.map(skillDocument), diagnostics }));
    return 0;
  }
  const paint = painter(io, flags);
  for (const entry of entries) await io.outText(`${skillLine(entry, paint, widthOf(io))}\n`);
  for (const found of diagnostics) await io.err(`${describeDiagnostic(found, paint)}\n`);
  return 0;
};

export async function allSkills({ skills }: Project): Promise<SkillEntry[]> {
  const found = await Promise.all([...skills.ids].sort().map((id) => skills.find(id)));
  return found.filter((entry) => entry !== undefined);
}

/** Lines are cut where a person sees them wrapped, and nowhere else. */
function widthOf(io: Io): number {
  return io.isTerminal ? io.columns : 1000;
}

function skillLine({ skill, unavailable }: SkillEntry, paint: Paint, columns: number): string {
  const mark = unavailable === undefined ? paint("green", "●") : paint("dim", "○");
  const state = unavailable === undefined ? amount(skill.tools.length, "tool") : unavailable;
  const head = `${skill.id.padEnd(14)} ${skill.category.padEnd(14)}`;
  return `${mark} ${head} ${paint("dim", oneLine(`${state} — ${skill.description}`, Math.max(40, columns - 36)))}`;
}

export const showSkill: Action = async (io, [id = ""], flags) => {
  const { skills } = openProject(io.host, projectOptions(flags));
  const entry = await skills.find(id);
  if (!entry) {
    const near = nearest(id, skills.ids);
    throw new SkillflowError("usage.invalid", `there is no skill "${id}"`, {
      hint: near ? `did you mean ${near}?` : "skillflow skills list",
    });
  }
  if (flags.json === true) {
    const { frontmatter = {}, skill } = entry;
    const document = { ...skillDocument(entry), frontmatter, instruction: skill.instruction ?? null };
    await io.out(jsonText(document));
    return 0;
  }
  await io.outText(`${describeSkill(entry, painter(io, flags), widthOf(io)).join("\n")}\n`);
  return 0;
};

/** The public shape of a skill (cli "Shapes"); values of config are never in it. */
function skillDocument(entry: SkillEntry) {
  const { skill, format, kind, source, shadows, fields, unavailable, withheld } = entry;
  return {
    id: skill.id,
    name: skill.name,
    format,
    category: skill.category,
    kind,
    ...(skill.version === undefined ? {} : { version: skill.version }),
    description: skill.description,
    source,
    available: unavailable === undefined,
    reasons: [...new Set([unavailable, withheld])].filter((reason) => reason !== undefined),
    config: Object.fromEntries(
      fields.map(({ key, field, from }) => [
        key,
        {
          description: field.description,
          required: field.required === true,
          env: field.env ?? null,
          from: from ?? null,
        },
      ]),
    ),
    tools: describeTools(skill, skill.tools).map(({ name, exposed, effect }) => ({ name, exposed, effect })),
    shadows,
  };
}

function describeSkill(
  { skill, format, source, shadows, fields, unavailable }: SkillEntry,
  paint: Paint,
  columns: number,
): string[] {
  const state =
    unavailable === undefined ? paint("green", "available") : paint("yellow", `unavailable: ${unavailable}`);
  const config = fields.map(({ key, field, from }) => {
    const value =
      from === undefined
        ? paint("dim", "not set")
        : paint("green", from === "override" ? "set by --set" : `set by ${field.env}`);
    return `  ${key.padEnd(22)} ${value}${field.required ? " (required)" : ""}  ${paint("dim", field.description)}`;
  });
  const tools = describeTools(skill, skill.tools).map(({ exposed, effect, description }) => {
    const shown = effect === "write" ? paint("yellow", "write") : paint("green", "read ");
    return `  ${shown} ${exposed.padEnd(30)} ${paint("dim", oneLine(description, Math.max(40, columns - 42)))}`;
  });
  return [
    `${paint("bold", plainText(skill.name))} ${paint("dim", `(${skill.id}) · ${skill.category} · ${format} · ${source.kind}`)}`,
    plainText(skill.description),
    state,
    ...(shadows.length > 0 ? [paint("dim", `shadows ${shadows.join(", ")}`)] : []),
    ...(config.length > 0 ? ["", paint("bold", "Config"), ...config] : []),
    ...(tools.length > 0 ? ["", paint("bold", "Tools"), ...tools] : []),
  ];
}
