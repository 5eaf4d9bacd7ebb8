import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import { isObject } from "../../../core/base/values.ts";
import { type Manifest, openManifest, unknownKeys } from "../../folder/lint-manifest.ts";
import type { SkillFolder } from "../../folder/skill-folder.ts";

const KEYS = ["name", "version", "description", "kind", "namespace", "runtime", "permissions", "inputs", "input"];
const TABLE_KEYS: Readonly<Record<string, readonly string[]>> = {
  runtime: ["language", "entrypoint", "export"],
  permissions: ["secrets", "network"],
};

/** Checks what the package loader does not. */
export function checkSkillsProtocol(folder: SkillFolder): Diagnostic[] {
  const manifest = openManifest(folder, "skill.toml");
  if ("severity" in manifest) return [manifest];
  const { value } = manifest;
  if (!isObject(value)) return [];
  const tables = Object.entries(TABLE_KEYS).flatMap(([table, known]) =>
    unknownKeys(manifest.problem, value[table], { known, path: [table] }),
  );
  return [...unknownKeys(manifest.problem, value, { known: KEYS }), ...tables, ...checkRuntime(folder, manifest)];
}

function checkRuntime(folder: SkillFolder, { value, problem }: Manifest): Diagnostic[] {
  const { kind, runtime } = isObject(value) ? value : {};
  if (kind === "instruction" && runtime !== undefined) {
    return [problem("error", "PACKAGE_RUNTIME", ["runtime"], "an instruction has no runtime: it is not run")];
  }
  const { entrypoint, export: name } = isObject(runtime) ? runtime : {};
  if (typeof entrypoint !== "string" || typeof name !== "string") return [];
  const source = textOf(folder, entrypoint.replace(/^\.\//, ""));
  if (source === undefined || new RegExp(`\\b${name.replace(/\W/g, "\\$&")}\\b`).test(source)) return [];
  return [problem("error", "PACKAGE_RUNTIME", ["runtime", "export"], `${entrypoint} has nothing named ${name}`)];
}

function textOf(folder: SkillFolder, file: string): string | undefined {
  try {
    return folder.read(file);
  } catch {
    return undefined;
  }
}
