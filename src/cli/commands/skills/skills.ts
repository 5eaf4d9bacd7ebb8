import { lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { withRemoteSkills } from "../../../app/calls/call-skill.ts";
import type { Workspace } from "../../../app/host.ts";
import { allSkills, HELD_SCRIPTS } from "../../../app/skills/states.ts";
import { type SkillEntry, unknownSkills } from "../../../app/workspace.ts";
import { usageError } from "../../../core/base/errors.ts";
import { plainLine } from "../../../core/base/inert.ts";
import { firstOf } from "../../../core/base/preview.ts";
import { didYouMean, isObject } from "../../../core/base/values.ts";
import { wantedOf } from "../../../core/skill/availability/config-form.ts";
import { describeTools, type ToolDescriptor, wholeReach } from "../../../core/skill/skill.ts";
import { openProject } from "../../flags.ts";
import { type Action, type Io, interruptSignal } from "../../io.ts";
import {
  amount,
  describeDiagnostic,
  type Format,
  oneLine,
  type Paint,
  painter,
  printJson,
} from "../../terminal/terminal.ts";

export const listSkills: Action = async (io, _args, flags) => {
  const workspace = openProject(io, flags);
  const signal = interruptSignal(io);
  const { entries, warnings } = await withRemoteSkills(workspace, await allSkills(workspace), { signal });
  const paint = painter(io, flags);
  for (const warning of warnings) await io.err(`${paint("yellow", "!")} ${plainLine(warning)}\n`);
  const diagnostics = [
    ...workspace.skills.diagnostics,
    ...unknownSkills(workspace, []),
    ...entries.flatMap((entry) => entry.diagnostics),
  ];
  if (flags.json === true)
    return printJson(io, { skills: entries.map((entry) => skillDocument(entry, workspace)), diagnostics });
  await io.outText(`${skillTable(entries, paint, widthOf(io)).join("\n")}\n`);
  for (const found of diagnostics) await io.err(`${describeDiagnostic(found, paint)}\n`);
  return 0;
};

/** Returns the terminal's width. Lines are shortened only on a terminal. */
function widthOf(io: Io): number {
  return io.outColumns ?? 1000;
}

interface Column {
  readonly title: string;
  cell(entry: SkillEntry): string;
  readonly format?: (entry: SkillEntry) => Format;
}

const COLUMNS: readonly [Column, ...Column[]] = [
  { title: "id", cell: ({ skill }) => skill.id, format: () => "bold" },
  { title: "format", cell: ({ format }) => format },
  { title: "from", cell: ({ source }) => `${source.kind} ${source.priority}`, format: () => "dim" },
  { title: "trust", cell: trustOf, format: ({ withheld }) => (withheld === undefined ? "dim" : "yellow") },
];

/** Columns to drop on a narrow terminal, in this order. */
const LEAST_NEEDED = ["from", "format", "trust"];
const LEAST_STATE = 24;

/** Builds one row per skill. The last column shows what the skill offers, or why it is unusable. */
function skillTable(entries: readonly SkillEntry[], paint: Paint, width: number): string[] {
  let columns: readonly Column[] = COLUMNS;
  const room = () => columns.reduce((left, column) => left - widthOfColumn(column, entries) - 2, width - 2);
  for (const title of LEAST_NEEDED) {
    if (room() < LEAST_STATE) columns = columns.filter((column) => column.title !== title);
  }
  const left = Math.max(room(), LEAST_STATE);
  const pad = (column: Column, text: string) => text.padEnd(widthOfColumn(column, entries) + 2);
  const head = columns.map((column) => paint("dim", pad(column, column.title))).join("");
  return [
    `  ${head}${paint("dim", "offers")}`,
    ...entries.map((entry) => {
      const cells = columns.map((column) => {
        const text = pad(column, oneLine(column.cell(entry), 64));
        return column.format ? paint(column.format(entry), text) : text;
      });
      const isUsable = entry.unavailable === undefined;
      const mark = isUsable ? paint("green", "●") : paint("dim", "○");
      const state = oneLine(stateOf(entry), left);
      return `${mark} ${cells.join("")}${isUsable ? state : paint("dim", state)}`.trimEnd();
    }),
  ];
}

function widthOfColumn({ title, cell }: Column, entries: readonly SkillEntry[]): number {
  return Math.max(title.length, ...entries.map((entry) => oneLine(cell(entry), 64).length));
}

/** Describes whether a skill's code may run. Text alone needs no trust. */
function trustOf({ withheld, source, skill, scripts }: SkillEntry): string {
  if (withheld !== undefined) return "not trusted";
  if (source.kind === "builtin") return "built in";
  return source.trusted && (skill.tools.length > 0 || skill.mcp || scripts) ? "trusted" : "not needed";
}

function stateOf({ skill, unavailable, isLacking, withheld, scripts, holdsScripts }: SkillEntry): string {
  if (unavailable) return [unavailable.reason, ...(isLacking ? [unavailable.fix] : [])].filter(Boolean).join(": ");
  const offers = [
    ...(skill.tools.length > 0 ? [amount(skill.tools.length, "tool")] : []),
    ...(skill.mcp ? ["an MCP server"] : []),
    ...(skill.instruction ? ["instruction"] : []),
    ...(scripts ? ["scripts"] : []),
  ];
  const held = withheld !== undefined ? "the rest" : holdsScripts ? "scripts" : undefined;
  return [...offers, ...(held === undefined ? [] : [`${held} only with --trust-skill ${skill.id}`])].join(", ");
}

export const showSkill: Action = async (io, [id = ""], flags) => {
  const workspace = openProject(io, flags);
  const { skills } = workspace;
  const found = await skills.find(id);
  const signal = interruptSignal(io);
  const { entries } = await withRemoteSkills(workspace, found?.remote ? [found] : [], { signal, reads: true });
  const entry = entries[0] ?? found;
  if (!entry) {
    throw usageError(`there is no skill "${id}"`, didYouMean(id, skills.ids) ?? "run skillflow skills list");
  }
  if (flags.json === true) {
    const { frontmatter = {}, skill } = entry;
    const document = skillDocument(entry, workspace);
    const tools = toolsOf(entry).map(({ description, input_schema }, index) => {
      return { ...document.tools[index], description, input_schema };
    });
    return printJson(io, { ...document, tools, frontmatter, instruction: skill.instruction ?? null });
  }
  await io.outText(`${describeSkill(entry, painter(io, flags), widthOf(io)).join("\n")}\n`);
  return 0;
};

/** Returns the public JSON shape of a skill. It never contains config values. */
function skillDocument(entry: SkillEntry, { skills }: Workspace) {
  const { skill, format, kind, source, shadows, fields, unavailable, withheld } = entry;
  return {
    id: skill.id,
    name: skill.name,
    format,
    category: skill.category,
    kind,
    ...(skill.version === undefined ? {} : { version: skill.version }),
    versions: skills.versions(skill.id),
    description: skill.description,
    source,
    available: unavailable === undefined,
    ...(unavailable ? { cause: unavailable.kind } : {}),
    reasons: [...new Set([unavailable?.reason, withheld])].filter((reason) => reason !== undefined),
    fix: unavailable?.fix ?? null,
    config: Object.fromEntries(
      fields.map(({ key, field, from = null, malformed }) => {
        const { description, required = false, format = null, env = null } = field;
        return [key, { description, required, format, env, from, malformed }];
      }),
    ),
    tools: toolsOf(entry).map((tool) => {
      const { name, exposed, effect } = tool;
      return { name, exposed, effect, ...wholeReach(tool) };
    }),
    shadows,
  };
}

/** Lists all tools, including those that need trust, because users decide about them. */
function toolsOf({ skill, heldTools }: SkillEntry) {
  return describeTools(skill, [...skill.tools, ...heldTools]);
}

function describeSkill(entry: SkillEntry, paint: Paint, columns: number): string[] {
  const { skill, format, kind, source, shadows, unavailable, withheld, diagnostics } = entry;
  const state = unavailable
    ? paint("yellow", `unavailable: ${plainLine(unavailable.reason)}`)
    : paint("green", "available");
  const carrier = entry.remote ? `the MCP server ${entry.remote.server.skill.id}` : "the workflow";
  const version = skill.version === undefined ? "" : ` ${skill.version}`;
  const about = [skill.id + version, skill.category, format, kind].join(" · ");
  const offers = describeOffers(entry, paint, columns);
  return [
    `${paint("bold", plainLine(skill.name))} ${paint("dim", `(${plainLine(about)})`)}`,
    plainLine(skill.description),
    state,
    ...(unavailable?.fix === undefined ? [] : [`to use it: ${plainLine(unavailable.fix)}`]),
    ...(withheld === undefined || withheld === unavailable?.reason ? [] : [paint("yellow", plainLine(withheld))]),
    ...(entry.holdsScripts ? [paint("yellow", `${HELD_SCRIPTS}: --trust-skill ${skill.id} offers them`)] : []),
    paint("dim", `from ${plainLine(source.path ?? carrier)} (${source.kind}, priority ${source.priority})`),
    ...(shadows.length > 0 ? [paint("dim", `shadows ${plainLine(shadows.join(", "))}`)] : []),
    ...diagnostics.map((found) => describeDiagnostic(found, paint)),
    ...section("Config", describeConfig(entry, paint), paint),
    ...section(entry.heldTools.length > 0 ? "Tools that need trust" : "Tools", offers, paint),
    ...section("Files", filesOf(entry), paint),
  ];
}

function section(title: string, lines: readonly string[], paint: Paint): string[] {
  return lines.length > 0 ? ["", paint("bold", title), ...lines] : [];
}

function describeConfig({ skill, fields }: SkillEntry, paint: Paint): string[] {
  const given = skill.id.includes("@") ? "set for this instance" : "set by --set";
  const width = Math.max(0, ...fields.map(({ key }) => plainLine(key).length));
  return fields.map(({ key, field, from, malformed }) => {
    const value =
      from === undefined
        ? paint("dim", "not set")
        : malformed
          ? paint("yellow", `is not ${wantedOf(field)}`)
          : paint("green", from === "override" ? given : `set by ${field.env}`);
    const needed = field.required ? ` (required${field.unless ? `, or ${field.unless}` : ""})` : "";
    return `  ${plainLine(key).padEnd(width)} ${value}${needed}  ${paint("dim", plainLine(field.description))}`;
  });
}

function describeOffers(entry: SkillEntry, paint: Paint, columns: number): string[] {
  const { skill } = entry;
  const tools = toolsOf(entry);
  const width = Math.max(0, ...tools.map(({ exposed }) => exposed.length));
  const lines = tools.flatMap((tool) => {
    const { exposed, effect, description } = tool;
    const shown = effect === "write" ? paint("yellow", "write") : paint("green", "read ");
    const reach = ` (${reachInWords(tool)})`;
    const about = oneLine(description, Math.max(24, columns - width - reach.length - 10));
    const parameters = parametersOf(tool);
    return [
      `  ${shown} ${exposed.padEnd(width)} ${paint("dim", about + reach)}`,
      ...(parameters === "" ? [] : [`        ${" ".repeat(width)} ${paint("dim", parameters)}`]),
    ];
  });
  const server = skill.mcp?.url ?? [skill.mcp?.command, ...(skill.mcp?.args ?? [])].join(" ");
  return skill.mcp ? [...lines, `  ${paint("dim", "and the tools of the MCP server")} ${oneLine(server, 120)}`] : lines;
}

/** Lists the parameters of a tool. Optional ones have a question mark. */
function parametersOf({ input_schema: { properties, required } }: ToolDescriptor): string {
  const needed = Array.isArray(required) ? required : [];
  const names = isObject(properties) ? Object.keys(properties) : [];
  return plainLine(names.map((name) => (needed.includes(name) ? name : `${name}?`)).join(", "));
}

/** Describes whose text a tool returns, who reads its writes, and its source: `from team, private`. */
function reachInWords(tool: ToolDescriptor): string {
  const { origin, audience, reads } = wholeReach(tool);
  return [`from ${origin}`, audience && `to ${audience}`, reads].filter(Boolean).join(", ");
}

const MOST_FILES = 40;

/** Lists the files in a skill's folder, so that users see what they would trust. */
function filesOf({ source }: SkillEntry): string[] {
  const { kind, path } = source;
  if (path === null || kind === "builtin" || !statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [];
  const names = readdirSync(path, { recursive: true, encoding: "utf8" }).filter(
    (name) => !/(^|[/\\])(node_modules|\.git)([/\\]|$)/.test(name) && !lstatSync(join(path, name)).isDirectory(),
  );
  const lines = names.sort().map((name) => `  ${oneLine(name, 120)}`);
  return firstOf(lines, MOST_FILES, (left) => `  and ${left} more`);
}
