import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { EnginePlace, WorkspaceOptions } from "../app/host.ts";
import { nearFile } from "../app/workspace.ts";
import { messageOf, SkillflowError } from "../core/base/errors.ts";
import { isObject, parseJson } from "../core/base/values.ts";
import type { InputField } from "../core/document/workflow/input.ts";
import type { Workflow } from "../core/document/workflow/workflow.ts";
import { amountOf, countOf, durationOf } from "../core/engine/settings/bounds.ts";
import type { RunChoices } from "../core/engine/settings/settings.ts";
import { readRegular } from "../files/files.ts";
import type { Flags, Io } from "./io.ts";

/** Checked and typed access to the flags. */

function wrong(message: string, hint?: string): SkillflowError {
  return new SkillflowError("usage.invalid", message, { hint });
}

export function text(flags: Flags, name: string): string | undefined {
  return typeof flags[name] === "string" ? flags[name] : undefined;
}

export function list(flags: Flags, name: string): readonly string[] {
  return Array.isArray(flags[name]) ? (flags[name] as string[]) : [];
}

export function projectOptions(flags: Flags): WorkspaceOptions {
  return {
    overrides: new Map(list(flags, "set").map((pair) => splitPair("--set", pair))),
    skillDirs: list(flags, "skills"),
    discover: flags.discover !== false,
    store: placeOf({ store: text(flags, "store"), engine: text(flags, "engine"), url: text(flags, "databaseUrl") }),
    state: text(flags, "state"),
    offline: flags.offline === true,
    writableWorkdir: flags.writableWorkdir === true,
    skillFlags: {
      trust: list(flags, "trustSkill"),
      order: text(flags, "skillOrder"),
      contextMode: text(flags, "contextMode"),
      allowScripts: flags.allowScripts === true,
      allowDefineTool: flags.allowDefineTool === true,
      effects: list(flags, "effect").map((pair) => splitPair("--effect", pair)),
      variables: list(flags, "skillEnv").map((pair) => splitPair("--skill-env", pair)),
    },
  };
}

interface StoreFlags {
  readonly store: string | undefined;
  readonly engine: string | undefined;
  readonly url: string | undefined;
}

/** Returns the folder or database that stores the runs. A database URL alone selects the database. */
export function placeOf({ store, engine, url }: StoreFlags): string | EnginePlace | undefined {
  if (engine === "local" && url !== undefined) throw wrong("--database-url is for --engine dbos");
  if (engine !== "dbos" && url === undefined) return store;
  if (store !== undefined) throw wrong("--store is a folder of runs: with --engine dbos they are in the database");
  return { engine: "dbos", url };
}

function splitPair(flag: string, pair: string): [string, string] {
  const at = pair.indexOf("=");
  if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)];
  throw wrong(`${flag} takes KEY=VALUE, not "${pair}"`);
}

export function runChoices(flags: Flags): RunChoices {
  return {
    model: text(flags, "model"),
    writes: text(flags, "writes"),
    offline: flags.offline === true,
    ...sourceChoices(flags),
    maxCostUsd: flagValue(flags, "maxCost", amountOf),
    maxTokens: flagValue(flags, "maxTokens", countOf),
    maxSteps: flagValue(flags, "maxSteps", countOf),
    timeoutMs: flagValue(flags, "timeout", durationOf),
    nodeTimeoutMs: flagValue(flags, "nodeTimeout", durationOf),
    toolTimeoutMs: flagValue(flags, "toolTimeout", durationOf),
    contextMode: flags.contextMode === "full" || flags.contextMode === "readOnDemand" ? flags.contextMode : undefined,
    requireSkills: flags.requireSkills === true,
    detached: flags.detach === true,
    frozen: flags.frozen === true,
    allowPublic: flags.allowPublic === true,
    coolDown: flags.coolDown !== false,
  };
}

/** Returns the flags that limit where Sources may come from. */
export function sourceChoices(flags: Flags): Pick<RunChoices, "fileRoot" | "inputSources"> {
  return { fileRoot: text(flags, "fileRoot"), inputSources: flags.inputSources === true };
}

/** Parses a flag if it is given. */
export function flagValue<Value>(
  flags: Flags,
  name: string,
  parse: (flag: string, text: string) => Value,
): Value | undefined {
  const given = text(flags, name);
  return given === undefined
    ? undefined
    : parse(`--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, given);
}

/** Parses a whole number, which may be zero. */
export function integer(flags: Flags, name: string, flag: string): number | undefined {
  const given = text(flags, name);
  if (given === undefined) return undefined;
  if (/^\d{1,9}$/.test(given)) return Number(given);
  throw wrong(`${flag} takes a whole number, not "${given}"`);
}

/** Reads the input from `--input`, single `-i` fields and `--dry-run`. */
export async function readInput(io: Io, flags: Flags): Promise<(workflow: Workflow) => unknown> {
  const base = await readInputFlag(io, text(flags, "input"));
  const pairs = list(flags, "i").map((pair) => splitPair("-i", pair));
  return (workflow) => {
    if (!isObject(base)) return base;
    const fields = new Map<string, unknown>(Object.entries(base));
    for (const [key, value] of pairs) addField(fields, key, value, fieldOf(workflow, key));
    if (flags.dryRun === true) fields.set("dryRun", true);
    return Object.fromEntries(fields);
  };
}

async function readInputFlag(io: Io, given: string | undefined): Promise<unknown> {
  if (given === undefined) return {};
  if (given === "-") return readJson(await io.readInput(), "standard input");
  if (!given.startsWith("@")) return readJson(given, "--input");
  const path = resolve(io.host.cwd, given.slice(1));
  if (!existsSync(path)) throw wrong(`there is no input file ${given.slice(1)}`, nearFile(path, given.slice(1)));
  return readJson(readText(path, given.slice(1)), given.slice(1));
}

function readText(path: string, given: string): string {
  try {
    return readRegular(path).toString("utf8");
  } catch (error) {
    throw wrong(`${given} cannot be read: ${messageOf(error)}`);
  }
}

function readJson(source: string, place: string): unknown {
  const text = source.replace(/^\uFEFF/, "");
  const value = parseJson(text);
  if (value !== undefined) return value;
  const hint = place === "--input" ? "a file is given as @FILE, standard input as -" : undefined;
  throw new SkillflowError("input.invalid", `${place} ${whyNoJson(text)}`, { hint });
}

function whyNoJson(text: string): string {
  try {
    JSON.parse(text);
    return "is nested too deep";
  } catch (error) {
    return `is no JSON: ${messageOf(error)}`;
  }
}

function fieldOf(workflow: Workflow, key: string): InputField | undefined {
  return workflow.inputs && Object.hasOwn(workflow.inputs, key) ? workflow.inputs[key] : undefined;
}

/** Adds a field, converted to its type. A value that does not fit stays text, and the input check reports it. */
function addField(fields: Map<string, unknown>, key: string, value: string, field: InputField | undefined): void {
  if (field?.type === "string[]") {
    const former = fields.get(key);
    fields.set(key, [...(Array.isArray(former) ? former : []), ...value.split(",")]);
  } else if (field?.type === "number") {
    fields.set(key, value.trim() === "" || Number.isNaN(Number(value)) ? value : Number(value));
  } else if (field?.type === "boolean") {
    fields.set(key, value === "true" ? true : value === "false" ? false : value);
  } else {
    fields.set(key, value);
  }
}
