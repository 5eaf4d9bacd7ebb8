import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import { messageOf } from "../../../core/base/errors.ts";
import { lazy } from "../../../core/base/values.ts";
import { readSmall } from "../../../files/files.ts";
import { resolveInsideNow } from "../../folder/contain.ts";
import type { Discovery, FolderFormat, LoadedSkill, SkillLevel } from "../../folder/format.ts";
import { type Contents, openContents } from "../../folder/skill-contents.ts";
import {
  openDocument,
  openSkillFolder,
  readSkillDocument,
  type SkillDocument,
  type SkillFolder,
  skipped,
} from "../../folder/skill-folder.ts";
import { parseYaml } from "../../text/yaml-text.ts";
import { checkDocument } from "../agent-skills/lint.ts";
import { checkModule } from "./lint.ts";
import { findModule, type ModulePlace, type NoModule, skillFile } from "./module-place.ts";
import { readModuleId } from "./module-source.ts";
import { importSkill } from "./skill-module.ts";

export const MODULES = ["skill.ts", "skill.mts", "skill.js", "skill.mjs"];

/** Loads folders whose skill.ts, .mts, .js or .mjs defines a skill. An optional SKILL.md supplies the instructions. */
export const moduleFolder: FolderFormat = {
  recognises: (folder) => MODULES.some((name) => folder.names.has(name)),
  read(folder) {
    const { directory, name } = folder;
    const entry = skillFile(directory) ?? directory;
    const file = entry.slice(directory.length + 1);
    const document = folder.names.has("SKILL.md") ? openDocument(folder) : undefined;
    const aboutDocument = () => (document ? checkDocument(folder, document, "module") : []);
    const source = openSource(folder, file);
    if ("severity" in source) {
      return { loaded: skipped(directory, source.message), format: "module", lint: () => [source, ...aboutDocument()] };
    }
    return {
      loaded: moduleSkill({ path: directory, entry, name }, folder.contents, {
        text: source.text,
        document: document && readSkillDocument(folder, document),
      }),
      format: "module",
      lint: () => [...checkModule(folder, file, source.text), ...aboutDocument()],
    };
  },
};

/** Reads the code. Refuses a link that leads out of the folder. */
function openSource({ directory, read }: SkillFolder, file: string): { readonly text: string } | Diagnostic {
  try {
    return { text: read(file) ?? "" };
  } catch (error) {
    const message = messageOf(error).split("\n")[0] ?? "";
    return { severity: "error", code: "MODULE_UNREADABLE", path: [], message, file: join(directory, file) };
  }
}

/** Finds the skill that an entry of `skills.modules` names, or reports why there is none. */
export function discoverModule(level: SkillLevel): Discovery {
  const place = findModule(level.path, level.from ?? level.path);
  if ("missing" in place) return { found: [], diagnostics: [notFound(level, place)] };
  try {
    const folder = openSkillFolder(place.path);
    const contents = folder?.contents ?? openContents({ path: realpathSync.native(place.path) });
    const document = folder?.names.has("SKILL.md") ? readSkillDocument(folder) : undefined;
    const loaded = moduleSkill(place, contents, { text: readSmall(place.entry) ?? "", document });
    return { found: [{ path: place.path, loaded, contents }], diagnostics: [] };
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

function moduleSkill(
  place: ModulePlace,
  { verify }: Contents,
  { text, document }: { text: string; document: SkillDocument | Diagnostic | undefined },
): LoadedSkill {
  const said: Partial<SkillDocument> = document && "id" in document ? document : {};
  const { frontmatter = {}, diagnostics: _, position: __, ...own } = said;
  // The id in the code, or else in the document, or else the name of the file, folder or package.
  const id = readModuleId(text) ?? own.id ?? place.name;
  return {
    skill: { description: `Skill as code: ${id}`, category: "general", config: {}, tools: [], ...own, id, name: id },
    format: "module",
    kind: "tools",
    frontmatter,
    runsCode: true,
    code: [`module ${place.entry}`],
    importCode: lazy(async () => importSkill(entryNow(place), id, verify)),
    diagnostics: document && "severity" in document ? [document] : [],
  };
}

/** Returns the file to import. Throws if it is no longer inside the folder. */
function entryNow({ path, entry }: ModulePlace): string {
  if (path === entry) return entry;
  const inside = resolveInsideNow(path, entry);
  if (!inside.inside) throw new Error(`${entry} ${inside.message}`);
  return inside.path;
}
