import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { EnginePlace, Workspace, WorkspaceOptions } from "../app/host.ts";
import type { OptionValues } from "../app/options.ts";
import { environmentRedactor } from "../app/secrets.ts";
import { nearFile, openWorkspace } from "../app/workspace.ts";
import { messageOf, SkillflowError, usageError } from "../core/base/errors.ts";
import { isObject, parseJson } from "../core/base/values.ts";
import type { InputField } from "../core/document/workflow/input.ts";
import type { Workflow } from "../core/document/workflow/workflow.ts";
import { readRegular } from "../files/files.ts";
import type { Flags, Io } from "./io.ts";

export function text(flags: Flags, name: string): string | undefined {
  return typeof flags[name] === "string" ? flags[name] : undefined;
}

export function list(flags: Flags, name: string): readonly string[] {
  return Array.isArray(flags[name]) ? (flags[name] as string[]) : [];
}

export function projectOptions(flags: Flags): WorkspaceOptions {
  const given: OptionValues = flags;
  const { set = [], skills = [], discover = true, state, offline, writableWorkdir } = given;
  const store = placeOf(given);
  const overrides = new Map(set);
  return { overrides, skillDirs: skills, discover, store, state, offline, writableWorkdir, skillFlags: given };
}
export function openProject({ host }: Pick<Io, "host">, flags: Flags): Workspace {
  return openWorkspace(host, projectOptions(flags));
}

/** Opens the project. Redacts the secrets of its environment from all further text for people. */
export function openGuarded(io: Io, flags: Flags): Workspace {
  const workspace = openProject(io, flags);
  io.protect(environmentRedactor(workspace));
  return workspace;
}

/** Returns the folder or database that stores the runs. A database URL alone selects the database. */
export function placeOf({ store, engine, databaseUrl: url }: PlaceOptions): string | EnginePlace | undefined {
  if (engine === "local" && url !== undefined) throw usageError("--database-url requires --engine dbos");
  if (engine !== "dbos" && url === undefined) return store;
  if (store !== undefined)
    throw usageError("--store cannot be used with --engine dbos, which keeps runs in the database");
  return { engine: "dbos", url };
}

type PlaceOptions = { readonly [Key in "store" | "engine" | "databaseUrl"]?: string | undefined };

export function number(flags: Flags, name: string): number | undefined {
  return typeof flags[name] === "number" ? flags[name] : undefined;
}

export async function readInput(io: Io, flags: Flags): Promise<(workflow: Workflow) => unknown> {
  const base = await readInputFlag(io, text(flags, "input"));
  const { i: pairs = [] }: OptionValues = flags;
  return (workflow) => {
    if (!isObject(base)) return base;
    const fields = new Map<string, unknown>(Object.entries(base));
    for (const [key, value] of pairs) {
      const field = workflow.inputs && Object.hasOwn(workflow.inputs, key) ? workflow.inputs[key] : undefined;
      fields.set(key, fieldValue(value, field, fields.get(key)));
    }
    if (flags.dryRun === true) fields.set("dryRun", true);
    return Object.fromEntries(fields);
  };
}

async function readInputFlag(io: Io, given: string | undefined): Promise<unknown> {
  if (given === undefined) return {};
  if (given === "-") return readJson(await io.readInput(), "standard input");
  if (!given.startsWith("@")) {
    const isFile = /^[^{[]/.test(given) && existsSync(resolve(io.host.cwd, given));
    const hint = isFile ? `write @${given} for the file` : "pass a file as @FILE, or standard input as -";
    return readJson(given, "--input", hint);
  }
  const path = resolve(io.host.cwd, given.slice(1));
  if (!existsSync(path)) throw usageError(`there is no input file ${given.slice(1)}`, nearFile(path, given.slice(1)));
  return readJson(readText(path, given.slice(1)), given.slice(1));
}

export function readText(path: string, given: string): string {
  try {
    return readRegular(path).toString("utf8");
  } catch (error) {
    throw usageError(`${given} cannot be read: ${messageOf(error)}`);
  }
}

async function readJson(source: string, place: string, hint?: string): Promise<unknown> {
  const text = source.replace(/^\uFEFF/, "");
  const value = parseJson(text);
  if (value !== undefined) return value;
  throw new SkillflowError("input.invalid", `${place} ${await whyNoJson(text)}`, { hint });
}

async function whyNoJson(text: string): Promise<string> {
  try {
    JSON.parse(text);
    return "is nested too deeply";
  } catch {
    const { parseJsonText } = await import("../app/documents.ts");
    const { message, line, column } = parseJsonText(text).problem ?? {};
    return `is not valid JSON: line ${line}, column ${column}: ${message}`;
  }
}

/** Converts a value to the type of its field. A value that does not fit stays text, and the input check reports it. */
function fieldValue(value: string, field: InputField | undefined, former: unknown): unknown {
  if (field?.type === "string[]") {
    const read = value.trimStart().startsWith("[") ? parseJson(value) : undefined;
    return [...(Array.isArray(former) ? former : []), ...(Array.isArray(read) ? read : value.split(","))];
  }
  if (field?.type === "number") return value.trim() === "" || Number.isNaN(Number(value)) ? value : Number(value);
  if (field?.type === "boolean" && (value === "true" || value === "false")) return value === "true";
  return value;
}
