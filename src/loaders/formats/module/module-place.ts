import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { messageOf } from "../../../core/base/errors.ts";
import { isObject, nearest } from "../../../core/base/values.ts";
import { foldersUp, isWithin, readRegular } from "../../../files/files.ts";

export interface ModulePlace {
  /** File, folder or package that the config names. */
  readonly path: string;
  /** File that defines the skill. */
  readonly entry: string;
  /** Skill id if the code does not state one literally. */
  readonly name: string;
}

/** Reason why there is no plug-in, with a suggestion. */
export interface NoModule {
  readonly missing: string;
  readonly hint?: string;
}

const EXTENSIONS = ["ts", "mts", "js", "mjs", "cjs"];
const isCode = (file: string) => EXTENSIONS.some((extension) => file.endsWith(`.${extension}`));

/** Finds a plug-in by its absolute path, or by the name of a package that is installed for the folder `from`. */
export function findModule(specifier: string, from: string): ModulePlace | NoModule {
  try {
    return isAbsolute(specifier) ? moduleAt(specifier) : modulePackage(specifier, from);
  } catch (error) {
    return { missing: `${specifier} cannot be read: ${messageOf(error)}` };
  }
}

function moduleAt(path: string): ModulePlace | NoModule {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) return { missing: `there is no ${path}`, ...hintOf(path, siblingsOf(path)) };
  if (stats.isDirectory()) {
    const entry = skillFile(path) ?? packageEntry(path) ?? codeNamed(path, "index");
    return entry === undefined ? noCode(path) : { path, entry, name: basename(path) };
  }
  if (!isCode(path)) {
    return { missing: `${path} is not code`, hint: `name a file that ends with .${EXTENSIONS.join(", .")}` };
  }
  const stem = basename(path).replace(/\.\w+$/, "");
  const name = ["skill", "index"].includes(stem) ? basename(dirname(path)) : stem;
  return { path, entry: path, name };
}

/** Returns the file of a folder that defines its skill. */
export function skillFile(directory: string): string | undefined {
  return codeNamed(directory, "skill");
}

function codeNamed(directory: string, stem: string): string | undefined {
  return EXTENSIONS.map((extension) => join(directory, `${stem}.${extension}`)).find((file) => existsSync(file));
}

function noCode(path: string): NoModule {
  return {
    missing: `${path} has no skill.ts, skill.js or index.js, and no package.json that names its main file`,
    hint: "list folders of skills in other formats in skills.extraDirs",
  };
}

function siblingsOf(path: string): string[] {
  const directory = dirname(path);
  return existsSync(directory) ? readdirSync(directory).map((name) => join(directory, name)) : [];
}

function hintOf(wanted: string, candidates: readonly string[]): { readonly hint?: string } {
  const near = nearest(wanted, candidates);
  return near === undefined ? {} : { hint: `did you mean ${near}?` };
}

function modulePackage(name: string, from: string): ModulePlace | NoModule {
  if (!/^(?:@[\w.-]+\/)?[\w-][\w.-]*$/.test(name)) {
    return { missing: `"${name}" is neither a path that begins with ./ nor the name of a package` };
  }
  const folders = foldersUp(from).map((folder) => join(folder, "node_modules"));
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (found === undefined) {
    const installed = folders.flatMap((folder) => installedIn(folder, name));
    return { missing: `the package ${name} is not installed for ${from}`, ...hintOf(name, installed) };
  }
  const path = realpathSync(found);
  const entry = packageEntry(path) ?? codeNamed(path, "index") ?? skillFile(path);
  // `@acme/skillflow-pager` -> `pager`
  const bare = name.replace(/^@[^/]+\//, "").replace(/^skillflow-(?=.)/, "");
  return entry === undefined ? noCode(path) : { path, entry, name: bare };
}

/** Lists candidates for a mistyped name: packages of its scope, or packages without a scope. */
function installedIn(folder: string, name: string): string[] {
  const scope = name.startsWith("@") ? (name.split("/")[0] ?? "") : "";
  const directory = join(folder, scope);
  if (!existsSync(directory)) return [];
  return readdirSync(directory).map((entry) => (scope === "" ? entry : `${scope}/${entry}`));
}

/** Returns the file that a package.json names for import, if it is inside the package's folder. */
function packageEntry(directory: string): string | undefined {
  const file = join(directory, "package.json");
  if (!existsSync(file)) return undefined;
  const manifest: unknown = JSON.parse(readRegular(file).toString("utf8"));
  if (!isObject(manifest)) return undefined;
  const exported = isObject(manifest.exports) && "." in manifest.exports ? manifest.exports["."] : manifest.exports;
  const main = exportedFile(exported) ?? (typeof manifest.main === "string" ? manifest.main : undefined);
  return main === undefined ? undefined : entryAt(directory, main);
}

const CONDITIONS = ["node", "import", "module-sync", "default", "require"];

function exportedFile(target: unknown): string | undefined {
  if (typeof target === "string") return target;
  if (Array.isArray(target)) return target.map(exportedFile).find((file) => file !== undefined);
  if (!isObject(target)) return undefined;
  const matching = Object.entries(target).filter(([condition]) => CONDITIONS.includes(condition));
  return matching.map(([, inner]) => exportedFile(inner)).find((file) => file !== undefined);
}

/** Resolves `main`, which may omit the extension or name a folder. */
function entryAt(directory: string, main: string): string | undefined {
  const path = join(directory, main);
  const candidates = [
    path,
    ...EXTENSIONS.flatMap((extension) => [`${path}.${extension}`, join(path, `index.${extension}`)]),
  ];
  const file = candidates.find((candidate) => statSync(candidate, { throwIfNoEntry: false })?.isFile());
  if (file === undefined || !isCode(file)) return undefined;
  return isWithin(realpathSync(directory), realpathSync(file)) ? file : undefined;
}
