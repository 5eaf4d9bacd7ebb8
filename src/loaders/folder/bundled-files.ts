import { type Dirent, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { inputError } from "../../core/base/errors.ts";
import { wholeText } from "../../core/engine/tools/blob.ts";
import { readPlace, resolveInsideNow } from "./contain.ts";
import { SKIPPED } from "./skill-folder.ts";

/**
 * Files that a skill bundles for a model to read. Excludes manifests and the code of tools. Without a tool manifest,
 * scripts are ordinary files.
 */

const MOST_FILES = 100;
const MOST_DEPTH = 6;
const MOST_BYTES = 256 * 1024;

const MANIFEST =
  /^(?:skill\.(?:md|toml|[cm]?[jt]s)|(?:tools|allowlist|execution|package|package-lock)\.json|(?:contract|binding)\.(?:ya?ml|json)|licen[cs]e(?:\.\w+)?)$/i;
const MAKES_TOOLS = /^(?:skill\.(?:toml|[cm]?[jt]s)|tools\.json|(?:contract|binding)\.(?:ya?ml|json))$/;
const CODE_FOLDER = /^(?:scripts|code)$/;
const CODE = /\.(?:[cm]?[jt]s|py|sh|map)$/;

/** Lists the bundled files by their paths in the folder, with `/`. At most 100. */
export function listBundled(directory: string): readonly string[] {
  if (!existsSync(directory)) return [];
  const names: string[] = [];
  const entries = entriesOf(directory);
  const isBundled = bundledIn(entries.map((entry) => entry.name));
  const visit = (path: string, below: readonly Dirent[], depth: number) => {
    for (const entry of below) {
      const name = path === "" ? entry.name : `${path}/${entry.name}`;
      if (names.length >= MOST_FILES || !isBundled(name)) continue;
      if (entry.isFile()) names.push(name);
      else if (entry.isDirectory() && depth < MOST_DEPTH) visit(name, entriesOf(join(directory, name)), depth + 1);
    }
  };
  visit("", entries, 0);
  return names;
}

/** Lists a folder by name. */
export function entriesOf(directory: string): readonly Dirent[] {
  return readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns a check for paths of bundled files and their folders. `top` are the names in the skill's folder. */
function bundledIn(top: readonly string[]): (name: string) => boolean {
  const hasTools = top.some((name) => MAKES_TOOLS.test(name));
  return (name) => {
    const segments = name.split("/");
    const [first = ""] = segments;
    if (segments.some((segment) => segment.startsWith(".") || SKIPPED.has(segment))) return false;
    if (segments.length === 1 && MANIFEST.test(first)) return false;
    return !(hasTools && (CODE_FOLDER.test(first) || CODE.test(name)));
  };
}

/** Checks whether a folder has files in `scripts/` that no manifest declares as handlers. */
export function hasOwnScripts(directory: string): boolean {
  const entries = entriesOf(directory);
  const folder = entries.find(({ name }) => name === "scripts");
  if (!folder?.isDirectory() || entries.some(({ name }) => MAKES_TOOLS.test(name))) return false;
  return entriesOf(join(directory, "scripts")).some((entry) => entry.isFile());
}

/** Returns the text of a bundled file. Throws if the path or the file is invalid. */
export async function readBundled(skill: string, directory: string, path: string): Promise<string> {
  const place = resolveInsideNow(directory, path);
  if (!place.inside) throw inputError(`the file ${path} of ${skill} ${place.message}`);
  if (!bundledIn(entriesOf(directory).map((entry) => entry.name))(place.relative)) {
    throw inputError(`${path} is not a file that ${skill} bundles for reading`);
  }
  const read = await readPlace(place, MOST_BYTES);
  if ("inside" in read) throw inputError(`the file ${path} of ${skill} ${read.message}`);
  return textOfFile(path, read.bytes, read.size);
}

/** Decodes the beginning of a file of `size` bytes. Throws if it is not text. */
export function textOfFile(path: string, bytes: Uint8Array, size: number): string {
  const left = size - bytes.length;
  const { text, start } = wholeText(bytes);
  if (start > 0 || text.includes("\0") || text.includes("\uFFFD")) {
    throw inputError(`${path} is not text: a binary file of ${size} bytes`);
  }
  const whole = text.replace(/^\uFEFF/, "");
  return left > 0 ? `${whole}\n[… ${left} bytes left out: the file has ${size} …]` : whole;
}
