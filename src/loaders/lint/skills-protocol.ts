import * as z from "zod";
import type { Diagnostic } from "../../core/errors.ts";
import { compileSchema } from "../../core/schema.ts";
import { isObject, type JsonSchema } from "../../core/values.ts";
import type { SkillFolder } from "../skill-folder.ts";
import { faultOfFile } from "./contents.ts";
import { type Complain, checkShape, type Manifest, openManifest, unknownKey } from "./manifest.ts";

const text = z.string().refine((value) => value.trim() !== "", "is blank");

const runtime = z.strictObject({
  language: z.enum(["python", "javascript", "node"]),
  entrypoint: text,
  export: text,
});

const skillToml = z.looseObject({
  name: z.string().regex(/^[a-z0-9]+(?:\.[a-z0-9]+)*$/, "must be lowercase letters and digits with dots between"),
  version: z.string().regex(/^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}$/, "must be major.minor.patch"),
  description: text.refine((value) => !value.trim().includes("\n"), "must be one line"),
  kind: z.enum(["action", "instruction"]),
  runtime: runtime.optional(),
  permissions: z
    .strictObject({
      secrets: z.array(z.string().regex(/^[A-Za-z_]\w*$/, "is no name of a variable")).optional(),
      network: z.union([z.array(text), z.literal(false)]).optional(),
    })
    .optional(),
});

const KEYS = [...Object.keys(skillToml.shape), "namespace", "inputs", "input", "outputs", "output", "limits"];

/** A `skill.toml` of the Skills Protocol (skill-formats 5.4). */
export function checkSkillsProtocol(folder: SkillFolder): Diagnostic[] {
  const manifest = openManifest(folder, "skill.toml");
  if ("severity" in manifest) return [manifest];
  const { value, problem } = manifest;
  if (!isObject(value)) return [];
  const unknown = Object.keys(value).filter((key) => !KEYS.includes(key));
  return [
    ...unknown.map((key) => unknownKey(problem, "warning", [key], KEYS)),
    ...checkShape(manifest, skillToml),
    ...checkRuntime(folder, manifest),
    ...["inputs", "input"].flatMap((key) => checkInputs(problem, value[key], key)),
  ];
}

function checkRuntime(folder: SkillFolder, { value, problem }: Manifest): Diagnostic[] {
  const { kind, runtime: run } = isObject(value) ? value : {};
  if (kind === "instruction") {
    const message = "an instruction has no runtime: it is not run";
    return run === undefined ? [] : [problem("error", "PACKAGE_RUNTIME", ["runtime"], message)];
  }
  if (kind !== "action") return [];
  if (!isObject(run)) return [problem("error", "PACKAGE_RUNTIME", ["kind"], "an action needs a table [runtime]")];
  const { entrypoint, export: name } = run;
  if (typeof entrypoint !== "string" || entrypoint.trim() === "") return [];
  const place = ["runtime", "entrypoint"];
  const fault = faultOfFile(folder, entrypoint.replace(/^\.\//, ""));
  if (fault === "missing") return [problem("error", "PACKAGE_RUNTIME", place, `there is no file ${entrypoint}`)];
  if (fault) return [problem("error", "PACKAGE_RUNTIME", place, `${entrypoint} leads out of the skill's folder`)];
  const source = textOf(folder, entrypoint);
  if (typeof name !== "string" || source === undefined) return [];
  if (new RegExp(`\\b${name.replace(/\W/g, "\\$&")}\\b`).test(source)) return [];
  return [problem("error", "PACKAGE_RUNTIME", ["runtime", "export"], `${entrypoint} has nothing named ${name}`)];
}

function textOf(folder: SkillFolder, file: string): string | undefined {
  try {
    return folder.read(file.replace(/^\.\//, ""));
  } catch {
    return undefined;
  }
}

function checkInputs(problem: Complain, inputs: unknown, key: string): Diagnostic[] {
  if (inputs === undefined) return [];
  if (!isObject(inputs)) return [problem("error", "PACKAGE_INPUTS", [key], `${key} must be a table`)];
  try {
    compileSchema(inputs as JsonSchema);
    return [];
  } catch (error) {
    return [problem("error", "PACKAGE_INPUTS", [key], `${key} is no JSON Schema: ${(error as Error).message}`)];
  }
}
