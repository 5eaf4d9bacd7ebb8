import { constants } from "node:fs";
import { delimiter, join } from "node:path";
import { isObject, isTexts } from "../../core/base/values.ts";
import type { Environment } from "../../core/document/config.ts";
import { isProgram } from "../../files/files.ts";

/**
 * Checks that all programs of `metadata.requires.bins` or `requires.bins`, or of one inner list, are on the PATH. `group`
 * is the index of the first such list. The requirement is `malformed` if it is neither a list of names nor of lists.
 */
export function findRequiredPrograms(frontmatter: { readonly [key: string]: unknown }, env: Environment) {
  const { metadata } = frontmatter;
  const bins = [isObject(metadata) ? metadata.requires : undefined, frontmatter.requires]
    .map((requires) => (isObject(requires) ? requires.bins : undefined))
    .find((each) => (each ?? null) !== null);
  const lacking = (names: readonly string[]) => names.filter((name) => !isInstalled(name, env));
  if (bins === undefined) return {};
  if (isTexts(bins)) return lacking(bins).length === 0 ? {} : { missing: lacking(bins).map(describe).join("; ") };
  if (!Array.isArray(bins) || !bins.every(isTexts)) return { malformed: true };
  const group = bins.findIndex((names) => lacking(names).length === 0);
  if (group >= 0) return { group };
  return { missing: bins.map((names) => lacking(names).map(describe).join(" and ")).join("; ") };
}

function describe(name: string): string {
  return isPath(name) ? `${name} is not a file` : `${name} is not on the PATH`;
}

function isPath(name: string): boolean {
  return /[\\/]/.test(name);
}

function isInstalled(name: string, env: Environment): boolean {
  if (isPath(name)) return isProgram(name, constants.F_OK);
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return name !== "" && folders.some((folder) => isProgram(join(folder, name)));
}
