import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type * as z from "zod";
import { type Diagnostic, fieldPath } from "../../core/base/diagnostic.ts";
import { messageOf, SkillflowError } from "../../core/base/errors.ts";
import { nearest, PARSED_ONCE } from "../../core/base/values.ts";
import { type Environment, type ProjectConfig, projectConfigSchema } from "../../core/document/config.ts";
import { foldersUp, isWithin, readRegular } from "../../files/files.ts";
import { parseDocument, problemOf } from "./document-text.ts";
import { describeIssue, keysAt, withoutConsequences } from "./schema-findings.ts";

/** Config file and its folder, which is the base of its relative paths. */
export interface LoadedConfig {
  readonly path: string;
  readonly directory: string;
  readonly config: ProjectConfig;
}

const NAME = ".skillflow.yml";

/** Loads the nearest `.skillflow.yml` from a folder up to the repository's root. */
export function loadProjectConfig(from: string): LoadedConfig | undefined {
  for (const directory of upToRepositoryRoot(from)) {
    const path = join(directory, NAME);
    if (statSync(path, { throwIfNoEntry: false })?.isFile())
      return { path, directory, config: readSettings(path, projectConfigSchema()) };
  }
  return undefined;
}

/** Loads the user's own config: `$XDG_CONFIG_HOME/skillflow/config.yml`, or else the one below `~/.config`. */
export function loadUserConfig(env: Environment): LoadedConfig | undefined {
  const path = userConfigPath(env);
  if (path === undefined || !existsSync(path)) return undefined;
  const config = readSettings(path, projectConfigSchema());
  if (config.extends === undefined) return { path, directory: dirname(path), config };
  throw new SkillflowError("config.invalid", `${path}: extends is only possible in a project's .skillflow.yml`);
}

/** Returns the path of the user's own config file, which may not exist. */
export function userConfigPath(env: Environment): string | undefined {
  const base = env.XDG_CONFIG_HOME || (env.HOME ? join(env.HOME, ".config") : undefined);
  return base ? join(base, "skillflow", "config.yml") : undefined;
}

/** Returns the root of the repository that contains a folder, or else the folder itself. */
export function projectRoot(from: string): string {
  const top = upToRepositoryRoot(from).at(-1) ?? from;
  return existsSync(join(top, ".git")) ? top : from;
}

/** Checks whether a path is in the repository that contains a folder. Untrusted authors may have written it. */
export function isInCheckout(path: string, from: string): boolean {
  const root = projectRoot(from);
  return existsSync(join(root, ".git")) && isWithin(realpathSync(root), realpathSync(nearestExisting(path)));
}

/** Checks whether a file's real path is in one of the user's own folders, but not in a checkout. */
export function isUsersOwn(path: string, from: string, folders: readonly string[]): boolean {
  if (!existsSync(path) || isInCheckout(path, from)) return false;
  const real = realpathSync(path);
  const own = folders.filter((folder) => existsSync(folder)).map((folder) => realpathSync(folder));
  const root = projectRoot(dirname(real));
  const around = existsSync(join(root, ".git")) ? dirname(root) : "/";
  return own.some((folder) => isWithin(folder, real) && !isWithin(folder, around));
}

function nearestExisting(path: string): string {
  return existsSync(path) ? path : nearestExisting(dirname(path));
}

function upToRepositoryRoot(from: string): string[] {
  const directories = foldersUp(resolve(from));
  const root = directories.findIndex((directory) => existsSync(join(directory, ".git")));
  return directories.slice(0, Math.max(root, 0) + 1);
}

/** Reads a file of settings. Throws one error with all findings. */
export function readSettings<Value>(path: string, schema: z.ZodType<Value>): Value {
  let text: string;
  try {
    text = readRegular(path).toString("utf8");
  } catch (error) {
    throw new SkillflowError("config.invalid", `${path} cannot be read: ${messageOf(error)}`);
  }
  return parseSettings(text, path, schema);
}

/** Parses the text of a file of settings. Throws one error with all findings. */
export function parseSettings<Value>(text: string, path: string, schema: z.ZodType<Value>): Value {
  const { value, faults, position } = parseDocument(text, path);
  const refuse = (found: readonly Diagnostic[], more = 0) => {
    const placed = found.map((each) => ({ line: 1, column: 1, ...each, file: path }));
    const told = placed.map(({ line, column, message }) => `${path}:${line}:${column}: ${message}`);
    const message = `${told.join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
    return new SkillflowError("config.invalid", message, { diagnostics: placed });
  };
  if (faults.length > 0) throw refuse(faults);
  const checked = schema.safeParse(value ?? {}, PARSED_ONCE);
  if (checked.success) return checked.data;
  const wrong = withoutConsequences(checked.error.issues).flatMap((issue) => {
    const at = issue.path as (string | number)[];
    if (issue.code !== "unrecognized_keys") {
      const tell = () => {
        const { message, hint } = describeIssue(issue, { schema, value })[0] ?? { message: issue.message };
        return `${at.length === 0 ? "the file " : ""}${message}${typeof hint === "string" ? `: ${hint}` : ""}`;
      };
      return [{ path: at, tell }];
    }
    return issue.keys.map((key) => {
      const path = [...at, key];
      return { path, tell: () => `${fieldPath(path)} is not a known setting${suggest(path, schema)}` };
    });
  });
  const told = wrong.slice(0, MOST_TOLD);
  throw refuse(
    told.map((each) => problemOf("SCHEMA", each.path, { message: each.tell(), ...position(each.path) })),
    wrong.length - told.length,
  );
}

const MOST_TOLD = 20;

/** Suggests a setting: one of the same map, or otherwise one of any map, with its path. */
function suggest(path: readonly (string | number)[], schema: z.ZodType): string {
  const key = String(path.at(-1));
  const siblings = keysAt(schema, path.slice(0, -1));
  const fields = keysAt(schema, []);
  const all = fields.flatMap((field) => [[field], ...keysAt(schema, [field]).map((inner) => [field, inner])]);
  const names = all.map((each) => each.at(-1) ?? "");
  const elsewhere = nearest(key, names);
  const near = nearest(key, siblings) ?? all.find((each) => each.at(-1) === elsewhere)?.join(".");
  if (near !== undefined) return ` (did you mean "${near}"?)`;
  const isShort = path.length > 1 && siblings.length > 0 && siblings.length < 15;
  return isShort ? ` (its settings: ${siblings.join(", ")})` : "";
}
