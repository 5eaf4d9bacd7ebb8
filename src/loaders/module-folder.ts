import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Diagnostic, messageOf } from "../core/errors.ts";
import { isWithin, resolveInside } from "./contain.ts";
import type { Discovery, SkillLevel } from "./discover.ts";
import type { FolderFormat, LoadedSkill } from "./format.ts";
import { findModule, type ModulePlace, type NoModule, skillFile } from "./module-place.ts";
import { readModuleId, relativeImports } from "./module-source.ts";
import { openSkillFolder, readSkillDocument, type SkillDocument, type SkillFolder } from "./skill-folder.ts";
import { importSkill } from "./skill-module.ts";
import { parseYaml } from "./yaml-text.ts";

/** A folder whose skill.ts, .mts, .js or .mjs defines a skill; its SKILL.md, if there is one, supplies the instruction. */
export const moduleFolder: FolderFormat = {
  format: "module",
  recognises: (folder) => ["skill.ts", "skill.mts", "skill.js", "skill.mjs"].some((name) => folder.names.has(name)),
  load(folder) {
    const { directory, name } = folder;
    const entry = skillFile(directory) ?? directory;
    // Throws what a link that leads out of the folder deserves.
    folder.read(entry.slice(directory.length + 1));
    return moduleSkill({ path: directory, entry, name }, folder);
  },
};

/** The one skill that an entry of `skills.modules` names, or why there is none. */
export function discoverModule(level: SkillLevel): Discovery {
  const place = findModule(level.path, level.from ?? level.path);
  if ("missing" in place) return { found: [], diagnostics: [notFound(level, place)] };
  try {
    const isFolder = statSync(place.path).isDirectory();
    const loaded = moduleSkill(place, isFolder ? openSkillFolder(place.path) : undefined);
    return { found: [{ path: place.path, loaded }], diagnostics: [] };
  } catch (error) {
    return { found: [], diagnostics: [notFound(level, { missing: messageOf(error) })] };
  }
}

function notFound({ named }: SkillLevel, { missing, hint }: NoModule): Diagnostic {
  const path = ["skills", "modules", named?.index ?? 0];
  return {
    severity: "warning",
    code: "MODULE_NOT_FOUND",
    path,
    message: `a module of skills.modules is left out: ${missing}`,
    ...(hint === undefined ? {} : { hint }),
    ...(named === undefined ? {} : { file: named.file, ...parseYaml(readFileSync(named.file, "utf8")).position(path) }),
  };
}

/** What is known of a skill before its code runs: its id, and what its SKILL.md says. */
function moduleSkill(place: ModulePlace, folder: SkillFolder | undefined): LoadedSkill {
  const document = folder?.names.has("SKILL.md") ? readSkillDocument(folder) : undefined;
  const said = document && "id" in document ? document : undefined;
  const id = idOf(place, said);
  let imported: Promise<LoadedSkill["skill"]> | undefined;
  return {
    skill: {
      id,
      name: id,
      description: said?.description ?? `Skill as code: ${id}`,
      category: said?.category ?? "general",
      config: said?.config ?? {},
      tools: [],
      ...(said?.instruction === undefined ? {} : { instruction: said.instruction }),
      ...(said?.mcp === undefined ? {} : { mcp: said.mcp }),
    },
    format: "module",
    kind: "tools",
    frontmatter: said?.frontmatter ?? {},
    runsCode: true,
    code: [`module ${place.entry}`],
    alsoRuns: () => filesBeside(place),
    importCode() {
      imported ??= importPlace(place, id);
      return imported;
    },
    diagnostics: document && "severity" in document ? [document] : [],
  };
}

const MOST_BYTES = 1024 * 1024;

/** The id that the code says plainly, else the document's, else the name of the file, folder or package. */
function idOf({ entry, name }: ModulePlace, document: SkillDocument | undefined): string {
  const source = statSync(entry).size > MOST_BYTES ? "" : readFileSync(entry, "utf8");
  return readModuleId(source) ?? document?.id ?? name;
}

/** A folder's code is inside of it when it runs, as it was when it was read. */
async function importPlace({ path, entry }: ModulePlace, id: string): Promise<LoadedSkill["skill"]> {
  if (path === entry) return importSkill(entry, id);
  const inside = await resolveInside(path, entry);
  if (!inside.inside) throw new Error(`${entry} ${inside.message}`);
  return importSkill(inside.path, id);
}

/** The files that the code imports by relative paths, and those that they import, as far as they are elsewhere. */
function filesBeside({ path, entry }: ModulePlace): readonly string[] {
  const seen = new Set<string>();
  const visit = (file: string) => {
    if (seen.has(file) || statSync(file).size > MOST_BYTES) return;
    seen.add(file);
    for (const specifier of relativeImports(readFileSync(file, "utf8"))) {
      const imported = fileOf(resolve(dirname(file), specifier));
      if (imported !== undefined) visit(imported);
    }
  };
  visit(realpathSync(entry));
  return [...seen].filter((file) => !isWithin(realpathSync(path), file)).sort();
}

/** An import may leave out the extension, name a folder, or name the .js that a .ts becomes. */
function fileOf(path: string): string | undefined {
  const stem = path.replace(/\.([cm]?)js$/, ".$1ts");
  const endings = ["ts", "mts", "cts", "js", "mjs", "cjs", "json"];
  const candidates = [path, stem, ...endings.flatMap((ending) => [`${path}.${ending}`, join(path, `index.${ending}`)])];
  const file = candidates.find((candidate) => existsSync(candidate) && statSync(candidate).isFile());
  return file === undefined ? undefined : realpathSync(file);
}
