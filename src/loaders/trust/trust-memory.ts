import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { messageOf } from "../../core/base/errors.ts";
import { isObject } from "../../core/base/values.ts";
import type { Environment } from "../../core/document/config.ts";
import { replaceFile } from "../../files/files.ts";
import { userConfigPath } from "../documents/project-config.ts";
import type { Contents } from "../folder/skill-contents.ts";

/** Approval of specific files in a specific place. */
export interface TrustEntry {
  readonly id: string;
  /** Absolute real path of the skill's folder or file, or of the file that declares a server. */
  readonly path: string;
  readonly digest: string;
  readonly at: string;
}

/** Code that the operator lets run: skills by id, by id and digest, and by an answer on a terminal. */
export interface Trust {
  /** Ids of skills that the project or the user has installed. */
  readonly ids: ReadonlySet<string>;
  /** `ID@DIGEST`: exactly this content, wherever it comes from. */
  readonly pinned?: ReadonlySet<string>;
  /** True if ids do not count, because only a record names the commit that the project's skills come from. */
  readonly onlyPinned?: boolean;
  readonly remembered: readonly TrustEntry[];
}

export type TrustMemory = ReturnType<typeof readTrustMemory>;

/** Returns the path of `trust.json`, next to the user's own config file. */
export function trustMemoryPath(env: Environment): string | undefined {
  const config = userConfigPath(env);
  return config === undefined ? undefined : join(dirname(config), "trust.json");
}

/** Reads the remembered approvals. Entries without a path and a digest are invalid. */
export function readTrustMemory(env: Environment) {
  const file = trustMemoryPath(env);
  if (file === undefined || !existsSync(file)) return { entries: [], findings: [] };
  try {
    const listed: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (!Array.isArray(listed)) throw new Error("it is not a list");
    const entries = listed.filter(isEntry);
    const findings = listed.filter((entry) => !isEntry(entry)).map((entry) => `${file}: ${describeLoose(entry)}`);
    return { entries, findings };
  } catch (error) {
    return { entries: [], findings: [`${file} is not read, so nothing in it is trusted: ${messageOf(error)}`] };
  }
}

function isEntry(value: unknown): value is TrustEntry {
  return (
    isObject(value) && [value.id, value.path, value.digest].every((part) => typeof part === "string" && part !== "")
  );
}

function describeLoose(value: unknown): string {
  const id = isObject(value) && typeof value.id === "string" ? value.id : JSON.stringify(value);
  return `the entry for ${id} is ignored, because it has no path and digest: answer again`;
}

export function isRemembered(entries: readonly TrustEntry[], id: string, { path, digest }: Contents): boolean {
  return entries.some((entry) => entry.id === id && entry.path === path && entry.digest === digest());
}

/**
 * Saves approvals and returns the file's path. They replace earlier ones for the same skill and place. The file is
 * written atomically. Throws if that fails.
 */
export async function rememberTrust(env: Environment, added: readonly TrustEntry[]): Promise<string> {
  const path = trustMemoryPath(env);
  if (path === undefined) throw new Error("neither XDG_CONFIG_HOME nor HOME is set");
  const isReplaced = (entry: TrustEntry) => added.some(({ id, path }) => id === entry.id && path === entry.path);
  const kept = readTrustMemory(env).entries.filter((entry) => !isReplaced(entry));
  // If the file is a link to the user's settings elsewhere, it stays a link.
  const file = existsSync(path) ? realpathSync(path) : path;
  await replaceFile(file, `${JSON.stringify([...kept, ...added], null, 2)}\n`);
  return path;
}
