import { join } from "node:path";
import type { Diagnostic } from "../../core/base/diagnostic.ts";
import { isObject } from "../../core/base/values.ts";
import type { Format } from "../../core/skill/skill.ts";
import { exposedName } from "../../core/skill/skill.ts";
import type { FolderFormat, LoadedSkill } from "../folder/format.ts";
import type { LoaderHost } from "../folder/host.ts";
import type { SkillLevel } from "../folder/level.ts";
import { checkContents } from "../folder/lint-contents.ts";
import { openManifest } from "../folder/lint-manifest.ts";
import { openSkillFolder, type SkillFolder } from "../folder/skill-folder.ts";
import { checkDocument } from "../formats/agent-skills/lint.ts";
import { documentFormat } from "../formats/agent-skills/skill-document.ts";
import { checkContract } from "../formats/contract/lint.ts";
import { checkModule } from "../formats/module/lint.ts";
import { checkSkillTools } from "../formats/skill-tools/lint.ts";
import { checkSkillsProtocol } from "../formats/skills-protocol/lint.ts";
import { checkToolDescriptor } from "../formats/tool-descriptor/lint.ts";
import { parseFrontmatter } from "../text/frontmatter.ts";
import { loadFolder, skillFolders } from "./discover.ts";
import { unknownToolsNamed } from "./named-tools.ts";

export interface LintedSkill {
  /** The skill's id if it can be read, or else its folder's name. */
  readonly skill: string;
  readonly format: Format;
  /** Absolute path. */
  readonly directory: string;
  /** All violations of the format's rules, ordered by file. */
  readonly problems: readonly Diagnostic[];
}

interface LintOptions {
  readonly formats: readonly FolderFormat[];
  readonly host: LoaderHost;
  /** Ids of the skills that others may refer to. */
  readonly known: ReadonlySet<string>;
}

/** Checks each skill strictly by the rules of its format, and all skills for shared tool names. */
export function lintSkills(folders: readonly SkillFolder[], options: LintOptions): LintedSkill[] {
  const loaded = folders.map((folder) => ({ folder, loaded: loadFolder(folder, options.formats, options.host) }));
  const ids = loaded.flatMap(({ loaded }) => ("severity" in loaded ? [] : [loaded.skill.id]));
  const known = new Set([...options.known, ...ids]);
  const linted = loaded.map(({ folder, loaded }) => lintFolder(folder, loaded, { ...options, known }));
  return withSharedNames(linted, loaded);
}

/** Returns the skill folder at a path, or the skill folders below it. */
export function foldersAt(path: string): SkillFolder[] {
  const folder = openSkillFolder(path);
  const isSkill = folder && [...folder.names].some((name) => /^(?:skill\.md|tools\.json)$/i.test(name));
  return isSkill ? [folder] : foldersOf([{ kind: "extra", path, trusted: false }]);
}

/** Returns the skill folders of levels, without duplicates. */
export function foldersOf(levels: readonly SkillLevel[]): SkillFolder[] {
  const found = levels.flatMap((level) => skillFolders(level, []));
  return [...new Map(found.map((folder) => [folder.directory, folder])).values()];
}

function lintFolder(folder: SkillFolder, loaded: LoadedSkill | Diagnostic, options: LintOptions): LintedSkill {
  const format = formatOf(folder, loaded, options.formats);
  const strict = [...CHECKS[format](folder, options.known), ...checkContents(folder), ...checkNamed(folder, loaded)];
  const lenient = ("severity" in loaded ? [loaded] : loaded.diagnostics).filter(({ code }) => !ABOUT_RUNS.has(code));
  const problems = inOrder([...strict, ...lenient.filter((found) => !isTold(strict, found, folder)).map(strictly)]);
  const skill = "severity" in loaded ? folder.name : loaded.skill.id;
  return { skill, format, directory: folder.directory, problems };
}

function checkNamed(folder: SkillFolder, loaded: LoadedSkill | Diagnostic): Diagnostic[] {
  if ("severity" in loaded || !folder.names.has("SKILL.md")) return [];
  return unknownToolsNamed(loaded.skill, loaded.skill.tools, { file: join(folder.directory, "SKILL.md") });
}

const CHECKS: Readonly<Record<Format, (folder: SkillFolder, known: ReadonlySet<string>) => Diagnostic[]>> = {
  "agent-skills": (folder) => checkDocument(folder, "agent-skills"),
  "skill-tools": (folder) => [...checkDocument(folder, "skill-tools"), ...checkSkillTools(folder)],
  "tool-descriptor": (folder) => [...checkDocument(folder, "tool-descriptor"), ...checkToolDescriptor(folder)],
  contract: checkContract,
  sweny: (folder) => checkDocument(folder, "sweny"),
  "skills-protocol": (folder) => [...checkDocument(folder, "skills-protocol"), ...checkSkillsProtocol(folder)],
  module: (folder) => [
    ...checkModule(folder),
    ...(folder.names.has("SKILL.md") ? checkDocument(folder, "module") : []),
  ],
  mcp: (folder) => checkDocument(folder, "mcp"),
};

/** Determines the format that the checks use. An unrecognised tools.json counts as invalid Skill Tools. */
function formatOf(folder: SkillFolder, loaded: LoadedSkill | Diagnostic, formats: readonly FolderFormat[]): Format {
  const recognised = formats.find((format) => recognises(format, folder))?.format ?? "agent-skills";
  if (recognised !== "agent-skills" && !TOOLS_FORMATS.has(recognised)) return recognised;
  if (folder.names.has("tools.json")) return manifestFormat(folder);
  return "severity" in loaded ? saidFormat(folder) : loaded.format;
}

const TOOLS_FORMATS: ReadonlySet<Format> = new Set(["skill-tools", "tool-descriptor"]);

function manifestFormat(folder: SkillFolder): Format {
  const manifest = openManifest(folder, "tools.json");
  const value = "severity" in manifest ? undefined : manifest.value;
  const isOneFile = isObject(value) && ["tools", "allowlist", "execution"].some((key) => Object.hasOwn(value, key));
  const isOfThree = Array.isArray(value) && ["allowlist.json", "execution.json"].some((name) => folder.names.has(name));
  return isOneFile || isOfThree ? "tool-descriptor" : "skill-tools";
}

/** Determines the format of a SKILL.md that could not be loaded. */
function saidFormat(folder: SkillFolder): Format {
  try {
    const parsed = parseFrontmatter(folder.read("SKILL.md") ?? "");
    return "fields" in parsed ? documentFormat(parsed.fields) : "agent-skills";
  } catch {
    return "agent-skills";
  }
}

function recognises(format: FolderFormat, folder: SkillFolder): boolean {
  try {
    return format.recognises(folder);
  } catch {
    return false;
  }
}

/** Checks whether a strict rule already reports the same problem in more detail. */
function isTold(strict: readonly Diagnostic[], { file, line, code }: Diagnostic, folder: SkillFolder): boolean {
  const isOfFolder = file === folder.directory;
  return strict.some((told) => {
    if (told.code === code || code === "TOOL_DOUBTFUL") return told.file === file && told.line === line;
    if (told.severity !== "error" || (told.file !== file && !isOfFolder)) return false;
    return COVERED.has(code) || WHOLE.has(told.code);
  });
}

/** Loader findings for which the strict rules have more specific codes. */
const COVERED: ReadonlySet<string> = new Set([
  "SKILL_SKIPPED",
  "SKILL_DOCUMENT",
  "SKILL_YAML_REPAIRED",
  "TOOLS_INVALID",
  "TOOL_SKIPPED",
]);
/** Findings that make a whole file unusable. */
const WHOLE: ReadonlySet<string> = new Set(["MANIFEST_UNREADABLE", "TOOLS_SHAPE", "TOOL_PARAMETERS"]);

/** Loader findings about what the operator allows, not about the skill. */
const ABOUT_RUNS: ReadonlySet<string> = new Set(["DESCRIPTOR_SCRIPTS"]);

/** Turns findings that make a skill or tool unusable into errors. */
function strictly(found: Diagnostic): Diagnostic {
  return ADVICE.has(found.code) ? found : { ...found, severity: "error" };
}

/** Loader findings that stay warnings in strict mode. */
const ADVICE: ReadonlySet<string> = new Set([
  "SKILL_FOLDER_NAME",
  "DESCRIPTOR_LAUNCHER",
  "MANIFEST_KEY_UNKNOWN",
  "TOOL_DOUBTFUL",
  "SKILL_NOT_IMPORTABLE",
]);

function inOrder(problems: readonly Diagnostic[]): Diagnostic[] {
  const files = [...new Set(problems.map(({ file }) => file))];
  const key = ({ file, line = 0, column = 0 }: Diagnostic) => [files.indexOf(file), line, column];
  return [...problems].sort((a, b) => {
    const other = key(b);
    return (
      key(a)
        .map((value, index) => value - (other[index] ?? 0))
        .find((difference) => difference !== 0) ?? 0
    );
  });
}

interface Loaded {
  readonly folder: SkillFolder;
  readonly loaded: LoadedSkill | Diagnostic;
}

/** Warns about tool names that several skills share (Skill Tools 1.0.0, section 5). */
function withSharedNames(linted: readonly LintedSkill[], loaded: readonly Loaded[]): LintedSkill[] {
  const owners = new Map<string, string[]>();
  for (const { loaded: skill } of loaded) {
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
      : `at a node that lists both, write ${full.join(" or ")}: tools.allow and evaluators take ${name} as the first skill's, tools.deny as that of each`;
  return {
    severity: "warning",
    code: "TOOL_NAME_SHARED",
    path: [],
    message,
    hint,
    file: join(directory, "tools.json"),
  };
}
