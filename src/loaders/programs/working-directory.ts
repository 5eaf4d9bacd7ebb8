import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join, relative, sep } from "node:path";
import type { Mount } from "../../core/skill/sandbox.ts";
import { isWithin } from "../../files/files.ts";
import type { LoaderHost } from "../folder/host.ts";

/**
 * Mounts the working directory for code in the sandbox. All of it is readable. If the operator makes it writable, paths
 * that this machine or the skill (`own`) could execute stay read-only.
 */
export function mountWorkDir(
  { writable }: Pick<LoaderHost, "writable">,
  workDir: string,
  own: readonly string[],
): Mount {
  const readOnly: Mount = { source: workDir, target: workDir, writable: false };
  if (!writable) return readOnly;
  const root = realpathSync(workDir);
  const named = [...writable.keep(), ...own, ...submodules(root)];
  const kept = named.flatMap((path) => (existsSync(path) ? [path, realpathSync(path)] : [path]));
  if (kept.some((path) => isWithin(path, root))) return readOnly;
  const first = kept.filter((path) => isWithin(root, path)).map((path) => relative(root, path).split(sep)[0] ?? "");
  const ours = readdirSync(root).filter((name) => name.startsWith(".skillflow") || name === MODULES);
  return { ...readOnly, writable: true, protect: [...new Set([...ALWAYS, ...ours, ...first])].sort() };
}

/** Paths that programs on this machine execute or trust. */
const ALWAYS = [".git", ".github", ".skillflow", ".skillflow.yml", "node_modules"];

const MODULES = ".gitmodules";

/** Returns the paths of Git submodules. Git reads the config files inside them, which can name programs. */
function submodules(root: string): readonly string[] {
  const file = join(root, MODULES);
  const text = lstatSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file, "utf8") : "";
  return [...text.matchAll(/^[ \t]*path[ \t]*=[ \t]*(\S.*)/gm)].map(([, path = ""]) =>
    join(root, path.trimEnd().replace(/^"|"$/g, "")),
  );
}
