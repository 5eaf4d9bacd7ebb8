import { realpathSync } from "node:fs";
import { join } from "node:path";
import type { Diagnostic } from "../../core/base/diagnostic.ts";
import { attempt, messageOf } from "../../core/base/errors.ts";
import { asFlag, type OptionWriter, renderHint } from "../../core/base/options.ts";
import { nearest } from "../../core/base/values.ts";
import { toolsNamed } from "../../core/engine/tools/disclosure.ts";
import { describeReserved, isReservedTool, RUN_SCRIPT } from "../../core/engine/tools/own-tools.ts";
import type { Effect, Skill, Tool } from "../../core/skill/skill.ts";
import { inFolder, isWithin } from "../../files/files.ts";
import { entriesOf } from "../folder/bundled-files.ts";
import type { Discovery, FolderFormat, FoundSkill, LoadedSkill, Reading, SkillLevel } from "../folder/format.ts";
import type { LoaderHost } from "../folder/host.ts";
import {
  openRealFolder,
  openSkillFolder,
  SKIPPED,
  type SkillFolder,
  skipped,
  UNNAMED,
} from "../folder/skill-folder.ts";
import { skillDocument } from "../formats/agent-skills/skill-document.ts";
import { CONTRACTS, skillContract } from "../formats/contract/skill-contract.ts";
import { MODULES, moduleFolder } from "../formats/module/module-folder.ts";
import { skillTools } from "../formats/skill-tools/skill-tools.ts";
import { skillPackage } from "../formats/skills-protocol/skill-package.ts";
import { toolDescriptor } from "../formats/tool-descriptor/tool-descriptor.ts";

/** All folder formats of skills. The first one that recognises a folder reads it. */
const FORMATS: readonly FolderFormat[] = [
  skillPackage,
  toolDescriptor,
  skillTools,
  skillContract,
  moduleFolder,
  skillDocument,
];

const MOST_FOLDERS = 2000;
const MOST_DEPTH = 4;

export function discoverSkills(level: SkillLevel, host: LoaderHost): Discovery {
  const found: FoundSkill[] = [];
  const { folders, skips } = skillFolders(level);
  for (const folder of folders) {
    const loaded = named(level, readFolder(folder, host).loaded);
    if ("severity" in loaded) skips.push(loaded);
    else found.push({ path: folder.directory, loaded, contents: folder.contents });
  }
  return { found, diagnostics: skips };
}

/** Requires a name in the document for skills in our own folders. Elsewhere the folder's name is enough. */
function named({ path }: SkillLevel, loaded: LoadedSkill | Diagnostic): LoadedSkill | Diagnostic {
  if ("severity" in loaded || !/[\\/]\.(?:skillflow|sweny)[\\/]skills$/.test(path)) return loaded;
  const found = loaded.diagnostics.find(({ code }) => code === UNNAMED);
  if (!found) return loaded;
  const { hint: _, ...about } = found;
  return { ...about, code: "SKILL_SKIPPED", message: `skipped: ${found.message}` };
}

export function readFolder(folder: SkillFolder, host: LoaderHost): Reading {
  const { directory } = folder;
  try {
    const format = FORMATS.find((candidate) => candidate.recognises(folder));
    if (format) return withoutReservedTools(format.read(folder, host), folder);
    const loaded = skipped(directory, almostSkill(folder) ?? "it is not a skill");
    const likely = folder.names.has("tools.json") ? toolDescriptor : skillDocument;
    return { ...likely.read(folder, host), loaded };
  } catch (error) {
    const loaded = skipped(directory, messageOf(error).split("\n")[0] ?? "");
    return { loaded, format: "agent-skills", lint: () => [{ ...loaded, severity: "error" }] };
  }
}

function withoutReservedTools(reading: Reading, folder: SkillFolder): Reading {
  const { loaded, lint } = reading;
  if ("severity" in loaded) return reading;
  const { skill, findings } = leaveOutReserved(loaded.skill, (tool) => placeOf(tool, folder));
  if (findings.length === 0) return reading;
  const diagnostics = [...loaded.diagnostics, ...findings];
  return {
    ...reading,
    loaded: { ...loaded, skill, diagnostics },
    lint: (known) => [...lint(known), ...findings],
  };
}

/** Removes tools that would replace skillflow's own. */
export function leaveOutReserved(skill: Skill, place: (tool: string) => Partial<Diagnostic>) {
  const tools = skill.tools.filter(({ name }) => !isReservedTool(skill.id, name));
  const findings = skill.tools
    .filter((tool) => !tools.includes(tool))
    .map(({ name }): Diagnostic => {
      const message = describeReserved(name);
      return { severity: "error", code: "TOOL_RESERVED", path: ["tools", name], message, ...place(name) };
    });
  return { skill: findings.length === 0 ? skill : { ...skill, tools }, findings };
}

/** Warns about `{{tool}}` names in a skill's text that match none of its tools, unless a server may have them. */
export function unknownToolsNamed(
  { instruction = "", mcp }: Skill,
  tools: readonly Pick<Tool, "name">[],
  at: Pick<Diagnostic, "file" | "line" | "column">,
): Diagnostic[] {
  if (mcp || tools.length === 0) return [];
  const names = tools.map(({ name }) => name);
  const unknown = toolsNamed(instruction).filter((name) => !names.includes(name));
  return unknown.map((name) => {
    const message = `its text names {{${name}}}, which is not one of its tools`;
    const near = nearest(name, names);
    const hint = near === undefined ? `its tools are ${names.join(", ")}` : `did you mean {{${near}}}?`;
    return { severity: "warning", code: "SKILL_TOOL_UNKNOWN", path: [], message, hint, ...at };
  });
}

/** Effects that options set, by `ID.tool`, for one skill. */
interface EffectsSet {
  readonly effects?: ReadonlyMap<string, Effect>;
  readonly write?: OptionWriter | undefined;
  readonly isBuiltin: boolean;
}

/** Reports effects that an option sets for tools that a skill does not have, or that it cannot loosen. */
export function idleEffects(
  id: string,
  tools: readonly Pick<Tool, "name" | "effect">[],
  { effects = new Map(), write = asFlag, isBuiltin }: EffectsSet,
): Diagnostic[] {
  const names = tools.map(({ name }) => name);
  if (names.length === 0) return [];
  return [...effects].flatMap(([place, effect]) => {
    const name = place.startsWith(`${id}.`) ? place.slice(id.length + 1) : undefined;
    if (name === undefined || name === RUN_SCRIPT) return [];
    const isKnown = names.includes(name);
    // The place may be of a longer id that begins with this one.
    if (!isKnown && name.includes(".")) return [];
    const isFixed =
      isBuiltin && effect === "read" && tools.some((tool) => tool.name === name && tool.effect === "write");
    if (isKnown && !isFixed) return [];
    const near = nearest(name, names);
    const unknown = `${id} has no tool ${name}${near === undefined ? "" : ` (did you mean ${near}?)`}`;
    const why = isKnown ? "a built-in tool that writes cannot become a read" : unknown;
    const message = `${renderHint([{ option: "effect", value: `${place}=${effect}` }], write)} has no effect: ${why}`;
    return { severity: "warning", code: "SKILL_NAMED_UNKNOWN", path: [], message };
  });
}

/** Returns the place where the folder first mentions a tool's name. */
function placeOf(tool: string, { directory, names, read }: SkillFolder): Partial<Diagnostic> {
  for (const file of ["tools.json", ...MARKS].filter((name) => names.has(name))) {
    const before =
      (read(file) ?? "").split(new RegExp(`(?<![\\w.-])${tool.replace(/\W/g, "\\$&")}(?![\\w.-])`))[0] ?? "";
    const lines = before.split("\n");
    if (before !== read(file))
      return { file: join(directory, file), line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
  }
  return { file: directory };
}

/** Files that make their folder a skill, in one format or another. */
const MARKS = ["SKILL.md", "skill.toml", ...CONTRACTS, ...MODULES];

/** Explains why a folder that resembles a skill is not one. Returns undefined for other folders. */
function almostSkill({ names }: SkillFolder): string | undefined {
  const document = [...names].find((name) => name.toLowerCase() === "skill.md");
  if (document !== undefined) return `its document is named ${document}: the name must be SKILL.md`;
  return names.has("tools.json") ? "it has a tools.json and no SKILL.md" : undefined;
}

/** Finds skills, and folders that resemble one, sorted by name. Does not search inside skills. */
export function skillFolders({ path: top, root: given }: SkillLevel) {
  const folders: SkillFolder[] = [];
  const skips: Diagnostic[] = [];
  const root = given === undefined ? undefined : (attempt(() => realpathSync.native(given)) ?? given);
  let seen = 0;
  const visit = (open: () => SkillFolder | undefined, path: string, depth: number) => {
    if (++seen > MOST_FOLDERS) return;
    let folder: SkillFolder | undefined;
    try {
      folder = open();
    } catch (error) {
      skips.push(skipped(path, messageOf(error)));
    }
    if (!folder) return;
    if (root !== undefined && !isWithin(root, folder.directory)) {
      skips.push(skipped(path, "it is a link that leads out of the project"));
      return;
    }
    const isSkill = MARKS.some((mark) => folder.names.has(mark));
    if (isSkill || almostSkill(folder) !== undefined) folders.push(folder);
    if (!isSkill && depth < MOST_DEPTH) {
      for (const entry of entriesOf(folder.directory)) {
        const { name } = entry;
        if (SKIPPED.has(name) || !(entry.isDirectory() || entry.isSymbolicLink())) continue;
        const below = inFolder(folder.directory, name);
        const openBelow = () => (entry.isSymbolicLink() ? openSkillFolder(below) : openRealFolder(below, name));
        visit(openBelow, join(path, name), depth + 1);
      }
    }
  };
  visit(() => openSkillFolder(top), top, 0);
  if (seen > MOST_FOLDERS) skips.push(skipped(top, `only the first ${MOST_FOLDERS} folders were searched`));
  return { folders, skips };
}
