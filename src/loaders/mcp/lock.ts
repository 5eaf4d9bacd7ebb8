import { lstatSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { fieldPath } from "../../core/base/diagnostic.ts";
import { messageOf, SkillflowError } from "../../core/base/errors.ts";
import { deepEqual, type Fitting, lazy } from "../../core/base/values.ts";
import type { McpServerConfig } from "../../core/skill/skill.ts";
import { readPlainNow, replaceFile } from "../../files/files.ts";
import { parseJsonText } from "../text/json-text.ts";
import { quote } from "./offer/tools.ts";
import type { OfferedSkill } from "./server-types.ts";

/** `skillflow.lock`: the tools and skills that MCP servers offered when the file was written. */

export const LOCK_SCHEMA = "skillflow.lock/2";
const hex = () => z.string().regex(/^[0-9a-f]{64}$/, "it is not a sha256 in hex");
const server = () =>
  z
    .strictObject({
      url: z.string().optional(),
      command: z.string().optional(),
      tools: z.record(z.string(), hex()),
      /** Files of skills by the address of SKILL.md. Absent in version 1. */
      skills: z.record(z.string(), z.record(z.string(), z.string().regex(/^sha256:[0-9a-f]{64}$/))).optional(),
    })
    .refine(({ url, command }) => (url === undefined) !== (command === undefined), "needs a url or a command");
const lockSchema = lazy(() =>
  z.strictObject({
    schema: z.enum(["skillflow.lock/1", LOCK_SCHEMA]),
    servers: z.record(z.string(), server()),
  }),
);
export type Lock = Fitting<typeof lockSchema>;
export type LockedServer = Lock["servers"][string];

const LOCK_FILE = "skillflow.lock";
const MOST_BYTES = 8 * 1024 * 1024;

/** Reads the lock in the project's root, or returns undefined if there is none. Throws if it is invalid. */
export function readLock(root: string): Lock | undefined {
  const path = join(root, LOCK_FILE);
  if (!lstatSync(path, { throwIfNoEntry: false })) return undefined;
  const { value, problem, position } = parseJsonText(readText(path));
  if (problem) throw broken(path, problem, problem.message);
  const checked = lockSchema().safeParse(value);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const at = (issue?.path ?? []) as (string | number)[];
  throw broken(path, position(at), [fieldPath(at), issue?.message].filter(Boolean).join(": "));
}

function readText(path: string): string {
  try {
    return readPlainNow(path, MOST_BYTES).toString("utf8");
  } catch (error) {
    throw broken(path, {}, messageOf(error));
  }
}

function broken(path: string, { line, column }: { line?: number; column?: number }, what: string): SkillflowError {
  const place = line === undefined ? path : `${path}:${line}:${column ?? 1}`;
  return new SkillflowError("config.invalid", `${place}: ${what}`, {
    hint: "restore it from version control, or delete it and run skillflow mcp-lock",
  });
}

/** Writes the lock with sorted keys, so that diffs are easy to review. Returns its path. */
export function writeLock(root: string, { schema, servers }: Lock): Promise<string> {
  const sorted = Object.entries(servers).map(([id, { skills, ...server }]) => {
    const files = Object.entries(skills ?? {}).map(([uri, digests]) => [uri, inOrder(digests)]);
    const pinned = skills && { skills: inOrder(Object.fromEntries(files)) };
    return [id, { ...server, tools: inOrder(server.tools), ...pinned }];
  });
  const text = JSON.stringify({ schema, servers: inOrder(Object.fromEntries(sorted)) }, null, 2);
  return replaceFile(join(root, LOCK_FILE), `${text}\n`, { root, fileMode: 0o666 });
}

function inOrder<Value>(map: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns the server's address for the lock. Omits user names, passwords and queries, which may be secrets. */
export function lockedPlace({ command, url = "" }: McpServerConfig): { command: string } | { url: string } {
  if (command !== undefined) return { command };
  if (!URL.canParse(url)) return { url: "" };
  const { origin, pathname } = new URL(url);
  return { url: `${origin}${pathname}` };
}

export interface Difference {
  /** Clause about the server. */
  readonly text: string;
  /** Tool that is left out because of it. */
  readonly tool?: string;
}

/** Returns the tools that match the lock, and all differences. */
export function holdToLock<Tool extends { readonly name: string; readonly digest: string }>(
  offered: readonly Tool[],
  config: McpServerConfig,
  { tools: locked, skills: _, ...place }: LockedServer,
) {
  const lockedDigest = (name: string) => (Object.hasOwn(locked, name) ? locked[name] : undefined);
  const isSame = ({ name, digest }: Tool) => lockedDigest(name) === digest;
  const names = new Set(offered.map(({ name }) => name));
  const gone = Object.keys(locked).filter((name) => !names.has(name));
  const others = offered.filter((tool) => !isSame(tool));
  const placed = `differs from the one in ${LOCK_FILE}, which is at ${quote(Object.values(place)[0] ?? "")}`;
  const changedText = (name: string) =>
    lockedDigest(name) === undefined
      ? `offers the tool ${quote(name)}, which is not in ${LOCK_FILE}: it is left out`
      : `has changed the tool ${quote(name)} since ${LOCK_FILE} was written: it is left out`;
  const goneText = (name: string) => `no longer offers the tool ${quote(name)}, which is in ${LOCK_FILE}`;
  const differences: readonly Difference[] = [
    ...(deepEqual(place, lockedPlace(config)) ? [] : [{ text: placed }]),
    ...others.map(({ name }) => ({ text: changedText(name), tool: name })),
    ...gone.map((name) => ({ text: goneText(name), tool: name })),
  ];
  return { tools: offered.filter(isSame), differences };
}

/** Returns the skills, with a fault for those that differ from the lock, and the differences. */
export function holdSkillsToLock(offered: readonly OfferedSkill[], { skills: locked }: LockedServer) {
  if (locked === undefined) {
    // The lock has version 1.
    const note = `offers skills that ${LOCK_FILE} does not pin: run skillflow mcp-lock`;
    return { skills: offered, differences: [], note: offered.some(isUsable) ? note : undefined };
  }
  const pinned = (uri: string) => (Object.hasOwn(locked, uri) ? locked[uri] : undefined);
  const differenceOf = (skill: OfferedSkill) => {
    const digests = pinned(skill.uri);
    if (digests === undefined) return isUsable(skill) ? `it is not in ${LOCK_FILE}` : undefined;
    return deepEqual(skill.digests, digests) ? undefined : `it has changed since ${LOCK_FILE} was written`;
  };
  const uris = new Set(offered.map(({ uri }) => uri));
  const gone = Object.keys(locked).filter((uri) => !uris.has(uri));
  const differences: readonly Difference[] = [
    ...offered.flatMap((skill) => {
      const why = differenceOf(skill);
      return why === undefined ? [] : { text: `offers the skill ${quote(skill.uri)}, which is left out: ${why}` };
    }),
    ...gone.map((uri) => ({ text: `no longer offers the skill ${quote(uri)}, which is in ${LOCK_FILE}` })),
  ];
  return {
    skills: offered.map((skill) => ({ ...skill, fault: skill.fault ?? differenceOf(skill) })),
    differences,
  };
}

function isUsable({ fault }: OfferedSkill): boolean {
  return fault === undefined;
}
