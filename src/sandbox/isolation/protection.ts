import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, realpathSync, rmdirSync, rmSync, type Stats, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SkillflowError } from "../../core/base/errors.ts";
import type { ForeignCommand, Mount } from "../../core/skill/sandbox.ts";
import { temporaryName, temporaryOwner } from "../../files/temporary-name.ts";
import type { SandboxHost } from "../host.ts";
import { livingProcess } from "../processes.ts";

/**
 * Keeps the protected names of folders that a program may write to: each is mounted read-only over itself, so that it can
 * neither be changed, nor replaced, nor made. The kernel mounts on what is there: where there is nothing, an empty folder
 * stands for it meanwhile, which holds a file for each sandbox that needs it and goes with the last one.
 */
interface Protection {
  readonly mounts: readonly Mount[];
  /** Once the program is gone. */
  release(): void;
}

/** `folder` is private to the program's sandbox. */
export function protectNames(
  host: SandboxHost,
  { argv: [program], mounts }: ForeignCommand,
  folder: string,
): Protection {
  const held: Held[] = [];
  const release = () => {
    for (const placeholder of held.splice(0)) letGo(host, placeholder);
  };
  const protect = (mount: Mount, name: string): Mount => {
    const path = join(realpathSync(mount.source), name);
    const target = join(mount.target, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isSymbolicLink()) throw isLink(program, mount, name);
    if (found && !isPlaceholder(path, found)) return { source: path, target, writable: false };
    held.push(hold(host, path));
    return { source: emptyFolder(folder), target, writable: false };
  };
  try {
    const kept = mounts.flatMap((mount) => (mount.protect ?? []).map((name) => protect(mount, name)));
    return { mounts: kept, release };
  } catch (error) {
    release();
    throw error;
  }
}

/** What stands at a link's place could be another by the time of the mount, and is not the folder's to protect. */
function isLink(program: string, { target }: Mount, name: string): SkillflowError {
  const message = `${program} was not run: ${target} cannot be made writable, because ${name} in it is a link`;
  return new SkillflowError("sandbox.failed", message, { hint: "put a folder or a file in the link's place" });
}

function emptyFolder(folder: string): string {
  const path = join(folder, "nothing");
  mkdirSync(path, { recursive: true });
  return path;
}

interface Held {
  readonly path: string;
  /** The file in it that stands for us. */
  readonly mark: string;
}

/** Told from any folder that somebody else may have made by the sticky bit on a folder that is its owner's alone. */
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
      // The last one who needed it took it away in this moment.
      if (!hasCode(error, "ENOENT")) throw error;
    }
  }
  throw new SkillflowError("sandbox.failed", `${path} cannot be kept from being made: it comes and goes`);
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
  return found.isDirectory() && (found.mode & 0o1777) === MODE && namesIn(path).every(isMark);
}

/** Also those that a killed process left behind are taken away. */
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

function isMark(name: string): boolean {
  return name.startsWith(`skillflow-${KIND}-`);
}

/** Whose process is gone; those of other machines are theirs to judge. */
function isLeft(name: string, { self }: SandboxHost): boolean {
  const owner = temporaryOwner(name, self);
  const living = owner && livingProcess(owner.pid);
  return owner !== undefined && (!living || (owner.started !== "" && living.started !== owner.started));
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException).code ?? "");
}
