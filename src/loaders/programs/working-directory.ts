import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join, relative, sep } from "node:path";
import type { Mount } from "../../core/skill/sandbox.ts";
import { isWithin } from "../../files/files.ts";
import type { LoaderHost } from "../folder/host.ts";

/**
 * The working directory as code in the sandbox sees it: it reads all of it. Where the operator lets it write there too,
 * nothing that it writes becomes code of this machine, or its own skill's (trust 8). `own` is what the code itself is.
 */
export function mountWorkDir(
  { writable }: Pick<LoaderHost, "writable">,
  workDir: string,
  own: readonly string[],
): Mount {
  const readOnly: Mount = { source: workDir, target: workDir, writable: false };
  if (!writable) return readOnly;
  const root = realpathSync(workDir);
  const kept = [...writable.keep(), ...own, ...submodules(root)].flatMap(bothPaths);
  if (kept.some((path) => isWithin(path, root))) return readOnly;
  const first = kept.filter((path) => isWithin(root, path)).map((path) => relative(root, path).split(sep)[0] ?? "");
  const ours = readdirSync(root).filter((name) => name.startsWith(".skillflow") || name === MODULES);
  return { ...readOnly, writable: true, protect: [...new Set([...ALWAYS, ...ours, ...first])].sort() };
}

/** What programs of this machine run, or believe, when they find it. */
const ALWAYS = [".git", ".github", ".skillflow", ".skillflow.yml", "node_modules"];

const MODULES = ".gitmodules";

/** Git looks into them with the settings that they hold themselves, which name programs. */
function submodules(root: string): readonly string[] {
  const file = join(root, MODULES);
  const text = lstatSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file, "utf8") : "";
  return [...text.matchAll(/^[ \t]*path[ \t]*=[ \t]*(\S.*)/gm)].map(([, path = ""]) =>
    join(root, path.trimEnd().replace(/^"|"$/g, "")),
  );
}

/** Where it is, and where a link on the way leads. */
function bothPaths(path: string): readonly string[] {
  return existsSync(path) ? [path, realpathSync(path)] : [path];
}
