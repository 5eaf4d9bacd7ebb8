import { readFileSync, realpathSync } from "node:fs";
import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import { messageOf } from "../../../core/base/errors.ts";
import { readSmall } from "../../../files/files.ts";
import { resolveInside } from "../../folder/contain.ts";
import type { FolderFormat, LoadedSkill } from "../../folder/format.ts";
import type { Discovery, SkillLevel } from "../../folder/level.ts";
import { type Contents, openContents } from "../../folder/skill-contents.ts";
import { openSkillFolder, readSkillDocument, type SkillDocument, type SkillFolder } from "../../folder/skill-folder.ts";
import { parseYaml } from "../../text/yaml-text.ts";
import { findModule, type ModulePlace, type NoModule, skillFile } from "./module-place.ts";
import { readModuleId } from "./module-source.ts";
import { importSkill } from "./skill-module.ts";

/** Loads folders whose skill.ts, .mts, .js or .mjs defines a skill. An optional SKILL.md supplies the instructions. */
export const moduleFolder: FolderFormat = {
  format: "module",
  recognises: (folder) => ["skill.ts", "skill.mts", "skill.js", "skill.mjs"].some((name) => folder.names.has(name)),
  load(folder) {
    const { directory, name } = folder;
    const entry = skillFile(directory) ?? directory;
    // Throws if the file is a link that leads out of the folder.
    folder.read(entry.slice(directory.length + 1));
    return moduleSkill({ path: directory, entry, name }, folder, folder.contents);
  },
};

/** Finds the skill that an entry of `skills.modules` names, or reports why there is none. */
export function discoverModule(level: SkillLevel): Discovery {
  const place = findModule(level.path, level.from ?? level.path);
  if ("missing" in place) return { found: [], diagnostics: [notFound(level, place)] };
  try {
    const folder = openSkillFolder(place.path);
    const contents = folder?.contents ?? openContents({ path: realpathSync.native(place.path) });
    return { found: [{ path: place.path, loaded: moduleSkill(place, folder, contents), contents }], diagnostics: [] };
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

/** Builds the skill from what is known before its code runs: its id and its SKILL.md. */
function moduleSkill(place: ModulePlace, folder: SkillFolder | undefined, { verify }: Contents): LoadedSkill {
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
    importCode() {
      imported ??= importPlace(place, id, verify);
      return imported;
    },
    diagnostics: document && "severity" in document ? [document] : [],
  };
}

/** Returns the id in the code, or else in the document, or else the name of the file, folder or package. */
function idOf({ entry, name }: ModulePlace, document: SkillDocument | undefined): string {
  return readModuleId(readSmall(entry) ?? "") ?? document?.id ?? name;
}

/** Imports the code, after checking that it is still inside the folder. */
async function importPlace(
  { path, entry }: ModulePlace,
  id: string,
  verify: Contents["verify"],
): Promise<LoadedSkill["skill"]> {
  if (path === entry) return importSkill(entry, id, verify);
  const inside = await resolveInside(path, entry);
  if (!inside.inside) throw new Error(`${entry} ${inside.message}`);
  return importSkill(inside.path, id, verify);
}
