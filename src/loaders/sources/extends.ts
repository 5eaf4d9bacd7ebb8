import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { attempt, messageOf, SkillflowError } from "../../core/base/errors.ts";
import { isObject } from "../../core/base/values.ts";
import { type Environment, type Extension, GIT_PLACE, projectConfigSchema } from "../../core/document/config.ts";
import { digestOf, isWithin, readRegular } from "../../files/files.ts";
import { type LoadedConfig, loadProjectConfig, parseSettings, projectRoot } from "../documents/project-config.ts";
import { git } from "./commit-files.ts";

export interface Means {
  readonly env: Environment;
  readonly checkout: string;
  /** Further hosts that the user allows. */
  readonly hosts: readonly string[];
  /** Makes no network requests except to this machine. */
  readonly offline?: boolean | undefined;
}

/** Loads the nearest `.skillflow.yml` with the files that it extends, which have no more trust than it has. */
export function loadExtendedConfig(from: string, means: Means): LoadedConfig | undefined {
  const loaded = loadProjectConfig(from);
  const listed = [loaded?.config.extends ?? []].flat();
  if (!loaded || listed.length === 0) return loaded;
  const { extends: _, ...own } = loaded.config;
  const bases = listed.map((extension) => baseOf(extension, loaded, means));
  const merged = [...bases, own].reduce<unknown>((all, next) => merge(all, next, 0), {});
  return { ...loaded, config: projectConfigSchema().parse(merged) };
}

function baseOf(extension: Extension, { path, directory }: LoadedConfig, means: Means) {
  const named = extension.file ?? extension.git ?? "";
  const refuse: Refuse = (why, hint) => {
    return new SkillflowError("config.invalid", `${path}: extends ${withoutUser(named)}: ${why}`, { hint });
  };
  const content =
    extension.file === undefined
      ? readCommitted(named, extension.sha256, { ...means, refuse })
      : readNear(resolve(directory, named), projectRoot(directory), refuse);
  const digest = digestOf(content);
  if (digest !== extension.sha256) throw refuse(`its sha256 is ${digest}, not ${extension.sha256}`);
  const base = parseSettings(content.toString("utf8"), withoutUser(named), projectConfigSchema());
  if (base.extends !== undefined) throw refuse("an extended file cannot extend another one");
  return base;
}

/** Removes the user part of an address, which may hold a password. */
const withoutUser = (address: string) => address.replace(/\/\/[^/\s]*@/, "//");

/** Merges maps. Anything else, and a server as a whole, replaces the value of the base. */
function merge(base: unknown, own: unknown, depth: number, isServer = false): unknown {
  if (!isObject(base) || !isObject(own) || (isServer && depth === 2)) return own;
  const added = Object.entries(own).map(([key, value]) => {
    const known = Object.hasOwn(base, key) ? base[key] : undefined;
    return [key, merge(known, value, depth + 1, isServer || (depth === 0 && key === "mcpServers"))] as const;
  });
  return Object.fromEntries([...Object.entries(base), ...added]);
}

type Refuse = (why: string, hint?: string) => SkillflowError;

function readNear(path: string, root: string, refuse: Refuse): Buffer {
  try {
    const real = realpathSync(path);
    if (isWithin(realpathSync(root), real)) return readRegular(real);
  } catch (error) {
    throw refuse(`it cannot be read: ${messageOf(error)}`);
  }
  throw refuse("it is not in the repository");
}

/** Reads a file of a commit. The user's cache keeps it by its digest, so that it is fetched once. */
function readCommitted(named: string, sha256: string, means: Means & { readonly refuse: Refuse }) {
  const { env, offline, refuse } = means;
  const { XDG_CACHE_HOME, HOME } = env;
  const folder = XDG_CACHE_HOME || (HOME ? join(HOME, ".cache") : undefined);
  const kept = folder && join(folder, "skillflow", "extends", sha256);
  const known = kept ? attempt(() => readRegular(kept)) : undefined;
  if (known && digestOf(known) === sha256) return known;
  const [, url = "", commit = "", path = ""] = GIT_PLACE.exec(named) ?? [];
  const isNear = url.startsWith("/") || url.startsWith("file:///");
  if (offline && !isNear)
    throw new SkillflowError("offline.refused", `extends ${withoutUser(named)}: the run is offline`);
  if (!isNear && !mayContact(url, means)) {
    const host = hostOf(url) ?? "HOST";
    const hint = `if you trust this host, list it in your own config file: fetch: { hosts: ["${host}"] }`;
    throw refuse("a checkout may contact only the host of its own origin", hint);
  }
  const content = fetchFile({ url, commit, path }, env, refuse);
  // A cache that cannot be written only costs time.
  if (kept && digestOf(content) === sha256)
    attempt(() => {
      mkdirSync(dirname(kept), { recursive: true, mode: 0o700 });
      writeFileSync(kept, content, { mode: 0o600 });
    });
  return content;
}

/** Checks for the host of the checkout's origin, and hosts that the user allows. An untrusted author chose the URL. */
function mayContact(url: string, { env, checkout, hosts }: Means): boolean {
  const host = hostOf(url);
  const { stdout } = git({ root: checkout, env }, ["config", "--local", "--get", "remote.origin.url"]);
  const origin = hostOf(stdout.toString("utf8").trim());
  return host !== undefined && (hosts.includes(host) || [origin, origin?.replace(/:\d+$/, "")].includes(host));
}

/**
 * Addresses that git and we read alike, such as `https://HOST:PORT/path` and `git@HOST:path`. A backslash, a bracket or an
 * escape (`%2F`) before the path would hide a host.
 */
const ADDRESS =
  /^(?:(?:https?|ssh|git):\/\/(?:[\w.~+-]+(?::[\w.~+-]*)?@)?([\w.-]+(?::\d+)?)(?:\/[^\\\s]*)?|[\w.+-]+@([\w.-]+):(?!\/\/)[^\\\s]*)$/i;

function hostOf(address: string): string | undefined {
  const [, host, scp] = ADDRESS.exec(address) ?? [];
  return (host ?? scp)?.toLowerCase();
}

function fetchFile(
  { url, commit, path }: Record<"url" | "commit" | "path", string>,
  env: Environment,
  refuse: Refuse,
): Buffer {
  const root = mkdtempSync(join(tmpdir(), "skillflow-extends-"));
  const run = (...args: string[]) => git({ root, env, reaches: true }, args);
  try {
    run("init", "--quiet", "--bare");
    const fetched = run("fetch", "--quiet", "--depth=1", "--no-tags", "--end-of-options", url, commit);
    if (fetched.status !== 0) {
      if (run("ls-remote", "--quiet", "--end-of-options", url).status === 0) throw refuse("there is no such commit");
      const why = fetched.error?.message ?? fetched.stderr.toString("utf8").trim().slice(0, 300);
      throw new SkillflowError("server.failed", `the repository ${withoutUser(url)} cannot be reached: ${why}`);
    }
    const read = run("cat-file", "blob", `${commit}:${path}`);
    if (read.status !== 0) throw refuse("there is no such file in the commit");
    return read.stdout;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
