import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, realpathSync, rmdirSync, rmSync, type Stats, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasCode, SkillflowError } from "../../core/base/errors.ts";
import type { ForeignCommand, Mount } from "../../core/skill/sandbox.ts";
import { namesIn } from "../../files/files.ts";
import { temporaryName, temporaryOwner } from "../../files/temporary-name.ts";
import type { SandboxHost } from "../host.ts";
import { livingProcess } from "../processes.ts";

/**
 * Returns read-only mounts that protect names in the writable ones. The program cannot change, replace or create these
 * names. The kernel needs a mount point, so an empty placeholder folder stands in for a missing name. It holds a mark
 * file per sandbox and is removed with the last one. `folder` is private to the program's sandbox.
 */
export function protectNames(host: SandboxHost, { argv: [program], mounts }: ForeignCommand, folder: string) {
  const held: Held[] = [];
  /** Removes our placeholders. Call it when the program is gone. */
  const release = () => {
    for (const placeholder of held.splice(0)) letGo(host, placeholder);
  };
  const protect = (mount: Mount, name: string): Mount => {
    const path = join(realpathSync(mount.source), name);
    const target = join(mount.target, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isSymbolicLink()) {
      // It could point elsewhere by the time of the mount.
      const message = `${program} was not run: ${mount.target} cannot be made writable, because ${name} in it is a link`;
      throw new SkillflowError("sandbox.failed", message, { hint: "replace the link with a folder or a file" });
    }
    if (found && !isPlaceholder(path, found)) return { source: path, target, writable: false };
    held.push(hold(host, path));
    const empty = join(folder, "nothing");
    mkdirSync(empty, { recursive: true });
    return { source: empty, target, writable: false };
  };
  try {
    const kept = mounts.flatMap((mount) => (mount.protect ?? []).map((name) => protect(mount, name)));
    return { mounts: kept, release };
  } catch (error) {
    release();
    throw error;
  }
}

interface Held {
  readonly path: string;
  readonly mark: string;
}

/** Mode of placeholders. The sticky bit on a private folder distinguishes them from other folders. */
const MODE = 0o1700;
const TRIES = 100;

function hold({ self }: SandboxHost, path: string): Held {
  const mark = join(path, temporaryName(KIND, self) + randomBytes(3).toString("hex"));
  for (let tries = 0; tries < TRIES; tries++) {
    makePlaceholder(path);
    try {
      writeFileSync(mark, "", { flag: "wx", mode: 0o600 });
      return { path, mark };
    } catch (error) {
      // Another sandbox has just removed the placeholder.
      if (!hasCode(error, "ENOENT")) throw error;
    }
  }
  throw new SkillflowError("sandbox.failed", `${path} cannot be blocked: other programs keep creating and deleting it`);
}

function makePlaceholder(path: string): void {
  try {
    mkdirSync(path, { mode: MODE });
  } catch (error) {
    const found = hasCode(error, "EEXIST") ? lstatSync(path, { throwIfNoEntry: false }) : undefined;
    if (!found || !isPlaceholder(path, found)) throw error;
  }
}

function isPlaceholder(path: string, found: Stats): boolean {
  const isMark = (name: string) => name.startsWith(`skillflow-${KIND}-`);
  return found.isDirectory() && (found.mode & 0o1777) === MODE && namesIn(path).every(isMark);
}

/** Removes our mark, and marks that dead processes left. */
function letGo(host: SandboxHost, { path, mark }: Held): void {
  rmSync(mark, { force: true });
  for (const name of namesIn(path)) if (isLeft(name, host)) rmSync(join(path, name), { force: true });
  try {
    rmdirSync(path);
  } catch (error) {
    if (!hasCode(error, "ENOTEMPTY", "EEXIST", "ENOENT")) throw error;
  }
}

const KIND = "kept";

/** Returns true if the mark's process is dead. Marks of other machines are kept. */
function isLeft(name: string, { self }: SandboxHost): boolean {
  const owner = temporaryOwner(name, self);
  const living = owner && livingProcess(owner.pid);
  return owner !== undefined && (!living || (owner.started !== "" && living.started !== owner.started));
}
