import { randomUUID } from "node:crypto";
import { mkdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasCode, SkillflowError } from "../core/base/errors.ts";
import type { ProcessMark } from "../core/engine/ports.ts";
import { namesIn } from "../files/files.ts";
import { orStoreError, storeError } from "./store-error.ts";

export interface LockOptions {
  readonly self: ProcessMark;
  readonly isAlive: (mark: ProcessMark) => boolean;
  /** Takes over the lock of another host, such as a container that is gone. Default: such a lock is held. */
  readonly ignoresHosts?: boolean;
}

/**
 * Takes a lock and returns its release function. Takes over the lock of a dead process of this host. A lock is a folder
 * with one empty file, named after its owner. The folder appears complete. A takeover is a single rename, so only one
 * of several processes can succeed. `what` says what the lock protects, such as `run r is being driven`.
 */
export function lock(path: string, what: string, { self, isAlive, ignoresHosts = false }: LockOptions): () => void {
  const mine = nameOf(self);
  for (let tries = 0; tries < 3; tries++) {
    if (moveIn(path, mine)) return () => release(path, mine);
    const owner = readOwner(path);
    if (!owner) continue;
    const isHeld = owner.mark.host === self.host ? isAlive(owner.mark) : !ignoresHosts;
    if (isHeld) throw lockedError(what, describe(owner.mark), path);
    if (takeOver(path, owner.name, mine)) return () => release(path, mine);
  }
  throw lockedError(what, holderOf(path, { self, isAlive }), path);
}

/** Describes the live process that holds the lock. A lock of another host always counts as held. */
export function holderOf(path: string, { self, isAlive }: LockOptions): string | undefined {
  const [name = ""] = ownersIn(path);
  const mark = parseName(name);
  return mark && (mark.host !== self.host || isAlive(mark)) ? describe(mark) : undefined;
}

function nameOf({ pid, host, started }: ProcessMark): string {
  return [String(pid), host.slice(0, 64), started, randomUUID()].map(encodeURIComponent).join("@");
}

function parseName(name: string): ProcessMark | undefined {
  const [pid = "", host, started] = name.split("@").map(decodeURIComponent);
  return /^\d+$/.test(pid) && host && started !== undefined ? { pid: Number(pid), host, started } : undefined;
}

/** Renames a draft folder into place. Succeeds only if the target is missing or empty. */
function moveIn(path: string, mine: string): boolean {
  const draft = `${path}.${randomUUID()}`;
  try {
    mkdirSync(draft, { mode: 0o700 });
    writeFileSync(join(draft, mine), "", { mode: 0o600 });
    renameSync(draft, path);
    return true;
  } catch (error) {
    rmSync(draft, { force: true, recursive: true });
    if (hasCode(error, "ENOTEMPTY", "EEXIST")) return false;
    throw storeError(error, `the lock ${path} cannot be taken`);
  }
}

function readOwner(path: string): { readonly name: string; readonly mark: ProcessMark } | undefined {
  const [name] = ownersIn(path);
  if (name === undefined) return undefined;
  const mark = parseName(name);
  if (mark) return { name, mark };
  throw new SkillflowError("store.locked", `the lock ${path} cannot be read`, { hint: "if no run uses it, delete it" });
}

function ownersIn(path: string): string[] {
  return orStoreError(`the lock ${path} cannot be read`, () => namesIn(path));
}

function takeOver(path: string, stale: string, mine: string): boolean {
  try {
    renameSync(join(path, stale), join(path, mine));
    return true;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return false;
    throw storeError(error, `the stale lock ${path} cannot be taken over`);
  }
}

/** Releases the lock. Another process may take it between the two steps, and then the folder is no longer ours. */
function release(path: string, mine: string): void {
  rmSync(join(path, mine), { force: true });
  try {
    rmdirSync(path);
  } catch (error) {
    if (!hasCode(error, "ENOENT", "ENOTEMPTY", "EEXIST")) throw storeError(error, `the lock ${path} cannot be removed`);
  }
}

function describe({ pid, host }: ProcessMark): string {
  return `process ${pid} on ${host}`;
}

/** Creates the error of a lock that another process holds. Without a path, the lock ends with its machine. */
export function lockedError(what: string, owner = "another process", path?: string): SkillflowError {
  const gone = path === undefined ? "" : `; if that machine is gone, delete ${path}`;
  return new SkillflowError("store.locked", `${what} by ${owner}`, { hint: `wait for it to end${gone}` });
}
