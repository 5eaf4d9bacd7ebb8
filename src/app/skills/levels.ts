import { existsSync, readdirSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import type { Diagnostic } from "../../core/base/diagnostic.ts";
import { ownPath, packagePath } from "../../files/own-files.ts";
import {
  isInCheckout,
  type LoadedConfig,
  projectRoot,
  userConfigPath,
} from "../../loaders/documents/project-config.ts";
import type { SkillLevel } from "../../loaders/folder/format.ts";
import { documentsOf, type Host, type WorkspaceOptions } from "../host.ts";
import type { Files, SkillChoices } from "./choices.ts";

/** Reports configured skill folders that do not exist. Standard folders may be missing. */
export function missingFolders(levels: readonly SkillLevel[]): Diagnostic[] {
  const missing = levels.filter(({ kind, path }) => kind === "extra" && !existsSync(path));
  return missing.map(({ path }) => {
    const message = `there is no folder ${path} to look for skills in`;
    return { severity: "warning", code: "SKILLS_FOLDER_NOT_FOUND", path: [], message };
  });
}

/** Source folder of the built-in skills, which are not project skills when working on skillflow itself. */
const OWN_SOURCES = packagePath("skills");

/** Folder of the guide to the Skills Protocol, which is an ordinary skill package. */
const builtinPackages = (): string => ownPath("guide", "src/protocol/skills-protocol/guide");

/** Standard folders for skills by precedence, highest first. `skills/` counts in projects only. */
const FOLDERS: Readonly<Record<SkillChoices["order"], readonly string[]>> = {
  sweny: [".skillflow", ".sweny", ".claude", ".agents", ".gemini", ".opencode", ""],
  "skill-tools": [".agents", ".claude", ".opencode", "", ".skillflow", ".sweny", ".gemini"],
};

export function skillLevels(
  host: Host,
  { skillDirs, discover }: WorkspaceOptions,
  { project, user, trustsUser, choices }: Pick<Files, "project" | "user" | "trustsUser"> & { choices: SkillChoices },
): readonly SkillLevel[] {
  const root = projectRoot(documentsOf(host));
  const extra = (path: string, trusted: boolean): SkillLevel => ({ kind: "extra", path, trusted });
  // Later folders override earlier ones.
  const extraOf = (file: LoadedConfig | undefined, trusted: boolean) =>
    (file?.config.skills?.extraDirs ?? [])
      .map((path) => extra(resolve(file?.directory ?? ".", path), trusted))
      .reverse();
  const named = [
    ...skillDirs.map((path) => extra(resolve(documentsOf(host), path), false)).reverse(),
    ...extraOf(project, false),
    ...extraOf(user, trustsUser),
    ...choices.modules.map(({ specifier, ...about }): SkillLevel => ({ kind: "module", path: specifier, ...about })),
  ];
  // First, so that a checkout cannot override the guide that clients read before anything else.
  const packages: SkillLevel = { kind: "builtin", path: builtinPackages(), trusted: true };
  if (!discover || (project ?? user)?.config.skills?.discover === false) return [packages, ...named];
  const folders = FOLDERS[choices.order];
  const inProject = folders.map((folder) => join(root, folder, "skills")).filter((path) => path !== OWN_SOURCES);
  const home = host.env.HOME;
  const inHome = home && home !== root ? folders.filter(Boolean).map((folder) => join(home, folder, "skills")) : [];
  const trusted = home !== undefined && !isInCheckout(home, host.cwd);
  return [
    packages,
    ...named,
    ...inProject.map((path): SkillLevel => ({ kind: "project", path, trusted: false, root })),
    ...inHome.map((path): SkillLevel => ({ kind: "user", path, trusted })),
  ];
}

/** Returns all folders of skills and settings. Code that could write there could raise its own trust. */
export function keptPlaces({ cwd, env }: Host, levels: readonly SkillLevel[]): readonly string[] {
  const byCustom = FOLDERS.sweny.map((folder) => join(cwd, folder, "skills"));
  const named = levels.map(({ path, from }) => (isAbsolute(path) ? path : join(from ?? cwd, "node_modules")));
  const config = userConfigPath(env);
  return [...byCustom, ...named, ...(config === undefined ? [] : [dirname(config)])];
}

export function ownFolders({ env }: Host): readonly string[] {
  const config = userConfigPath(env);
  const dotted = FOLDERS.sweny.filter(Boolean).flatMap((folder) => (env.HOME ? [join(env.HOME, folder)] : []));
  return config === undefined ? dotted : [...dotted, dirname(config)];
}

/** Lists the folder names in the standard skill folders and in `named`, without opening any skill. */
export function knownSkills({ cwd, env }: Host, named: readonly string[]): readonly string[] {
  const places = [cwd, projectRoot(cwd), ...(env.HOME ? [env.HOME] : [])];
  const dotted = places.flatMap((place) => FOLDERS.sweny.map((folder) => join(place, folder, "skills")));
  const names = [ownPath("skills", "skills"), ...named, ...dotted].flatMap(foldersIn);
  return [...new Set(names)].sort();
}

function foldersIn(directory: string): string[] {
  if (!existsSync(directory)) return [];
  const entries = readdirSync(directory, { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() && !entry.name.startsWith(".") ? [entry.name] : []));
}
