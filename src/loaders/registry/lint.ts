import { basename, join } from "node:path";
import { byPlace, type Diagnostic } from "../../core/base/diagnostic.ts";
import type { Format } from "../../core/skill/skill.ts";
import { exposedName } from "../../core/skill/tool-names.ts";
import type { LoadedSkill, Reading, SkillLevel } from "../folder/format.ts";
import type { LoaderHost } from "../folder/host.ts";
import { checkContents } from "../folder/lint-contents.ts";
import { openSkillFolder, type SkillFolder } from "../folder/skill-folder.ts";
import { readFolder, skillFolders, unknownToolsNamed } from "./discover.ts";

export interface LintedSkill {
  /** The skill's id if it can be read, or else its folder's name. */
  readonly skill: string;
  readonly format: Format;
  readonly directory: string;
  /** All violations of the format's rules, ordered by file. */
  readonly problems: readonly Diagnostic[];
}

interface LintOptions {
  readonly host: LoaderHost;
  /** Ids of the skills that others may refer to. */
  readonly known: ReadonlySet<string>;
  /** Reasons why the targets of contracts cannot exist, by the contracts' folders. */
  readonly unbound?: ReadonlyMap<string, string>;
}

/** Checks each skill strictly by the rules of its format, and all skills for shared tool names. */
export function lintSkills(folders: readonly SkillFolder[], options: LintOptions): LintedSkill[] {
  const read = folders.map((folder) => ({ folder, ...readFolder(folder, options.host) }));
  const ids = read.flatMap(({ loaded }) => ("severity" in loaded ? [] : [loaded.skill.id]));
  const known = new Set([...options.known, ...ids]);
  const linted = read.map(({ folder, loaded, format, lint }) => ({
    skill: "severity" in loaded ? folder.name : loaded.skill.id,
    format,
    directory: folder.directory,
    problems: inOrder([
      ...lint(known),
      ...checkTarget(loaded, known, options.unbound?.get(folder.directory)),
      ...checkContents(folder),
      ...checkNamed(folder, loaded),
    ]),
  }));
  return withSharedNames(linted, read);
}

/** Returns the skill folder at a path, or the skill folders below it. */
export function foldersAt(path: string): SkillFolder[] {
  const folder = openSkillFolder(path);
  const isSkill = folder && [...folder.names].some((name) => /^(?:skill\.md|tools\.json)$/i.test(name));
  return isSkill ? [folder] : foldersOf([{ kind: "extra", path, trusted: false }]).folders;
}

/** Returns the skill folders of levels, without duplicates, and reports the folders that the loader skips. */
export function foldersOf(levels: readonly SkillLevel[]) {
  const found = levels.map((level) => ({ level, ...skillFolders(level) }));
  const folders = found.flatMap((each) => each.folders);
  return {
    folders: [...new Map(folders.map((folder) => [folder.directory, folder])).values()],
    skipped: found.flatMap(({ level, skips }) => skips.map((skip) => skippedSkill(skip, level))),
  };
}

/** Reports a folder that the loader does not search. Only the project's own folders are errors of the project. */
function skippedSkill(found: Diagnostic, { kind }: SkillLevel): LintedSkill {
  const directory = found.file ?? "";
  const problems: Diagnostic[] = [{ ...found, severity: kind === "project" ? "error" : "warning" }];
  return { skill: basename(directory), format: "agent-skills", directory, problems };
}

function checkTarget(loaded: LoadedSkill | Diagnostic, known: ReadonlySet<string>, unbound: string | undefined) {
  const target = "severity" in loaded ? undefined : loaded.boundTo;
  return target && unbound !== undefined && known.has(target.skill) ? [target.refuse(unbound)] : [];
}

function checkNamed(folder: SkillFolder, loaded: LoadedSkill | Diagnostic): Diagnostic[] {
  if ("severity" in loaded || !folder.names.has("SKILL.md")) return [];
  return unknownToolsNamed(loaded.skill, loaded.skill.tools, { file: join(folder.directory, "SKILL.md") });
}

function inOrder(problems: readonly Diagnostic[]): Diagnostic[] {
  const files = [...new Set(problems.map(({ file }) => file))];
  return [...problems].sort((a, b) => files.indexOf(a.file) - files.indexOf(b.file) || byPlace(a, b));
}

/** Warns about tool names that several skills share (Skill Tools 1.0.0, section 5). */
function withSharedNames(linted: readonly LintedSkill[], read: readonly Reading[]): LintedSkill[] {
  const owners = new Map<string, string[]>();
  for (const { loaded: skill } of read) {
    if ("severity" in skill || skill.format !== "skill-tools") continue;
    for (const { name } of skill.skill.tools) owners.set(name, [...(owners.get(name) ?? []), skill.skill.id]);
  }
  return linted.map((skill) => {
    const shared = [...owners].filter(([, ids]) => ids.includes(skill.skill) && ids.some((id) => id !== skill.skill));
    return { ...skill, problems: [...skill.problems, ...shared.map(([name, ids]) => sharedName(skill, name, ids))] };
  });
}

function sharedName({ skill, directory }: LintedSkill, name: string, ids: readonly string[]): Diagnostic {
  const others = [...new Set(ids.filter((id) => id !== skill))];
  const message = `${others.join(", ")} has a tool ${name} too`;
  const full = [skill, ...others].map((id) => exposedName(id, name));
  const hint =
    new Set(full).size < full.length
      ? `at a node that lists both, the second is offered as ${full[0]}_2; rename one of them`
      : `at a node that lists both, write ${full.join(" or ")}: in tools.allow and evaluators, ${name} means the first skill's tool, in tools.deny both`;
  const file = join(directory, "tools.json");
  return { severity: "warning", code: "TOOL_NAME_SHARED", path: [], message, hint, file };
}
