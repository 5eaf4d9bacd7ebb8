import { randomInt } from "node:crypto";
import {
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  opendirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { ForeignCommand } from "../../core/skill/sandbox.ts";
import type { SandboxHost } from "../host.ts";
import type { ViewStep } from "./command.ts";

/** User id and group id that the kernel sees, regardless of the program's user namespace. */
interface KernelUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Chooses an unprivileged user for a program if we are root. The kernel's process limit does not bind root, and root's
 * files stay accessible even without capabilities. The user is the owner of the writable folders, or an unused id.
 * Returns undefined if we are not root, or if that user could not use the mounts.
 */
export function chooseKernelUser(host: SandboxHost, { mounts }: ForeignCommand): KernelUser | undefined {
  if (host.uid !== 0 || !mayBecomeOthers()) return undefined;
  const written = mounts
    .filter(({ writable, disposable }) => writable && !disposable)
    .map(({ source }) => statSync(source));
  const [owner] = written;
  // An unused id belongs to no account. It differs per program, so that programs cannot affect each other.
  const unused = randomInt(NOBODIES.first, NOBODIES.last + 1);
  const user = owner ? { uid: owner.uid, gid: owner.gid } : { uid: unused, gid: unused };
  const isOurs = user.uid === 0 || written.some(({ uid }) => uid !== user.uid);
  const read = mounts.filter(({ writable }) => !writable);
  return isOurs || !read.every(({ source }) => canRead(user, source)) ? undefined : user;
}

const NOBODIES = { first: 61_184, last: 65_519 };

/** Checks whether these ids exist here, because a container may map fewer users. */
function mayBecomeOthers(): boolean {
  return ["uid_map", "gid_map"].every((file) => {
    const path = `/proc/self/${file}`;
    const ranges = existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
    return ranges.some((range) => {
      const [inside = 0, , count = 0] = range.trim().split(/\s+/).map(Number);
      return inside <= NOBODIES.first && inside + count > NOBODIES.last;
    });
  });
}

/** Limit for checking a folder. Larger folders count as unreadable. Skills are smaller than this. */
const MOST_ENTRIES = 2000;

function canRead({ uid }: KernelUser, source: string): boolean {
  const isOpen = (found: Stats) => {
    const needed = found.isDirectory() ? 0o5 : 0o4;
    const bits = found.uid === uid ? found.mode >> 6 : found.mode;
    return found.isSymbolicLink() || (bits & needed) === needed;
  };
  const waiting = [source];
  for (let seen = 0; waiting.length > 0; seen++) {
    const path = waiting.pop() ?? "";
    const found = seen === 0 ? statSync(path) : lstatSync(path);
    if (seen > MOST_ENTRIES || !isOpen(found)) return false;
    if (found.isDirectory()) waiting.push(...entriesOf(path));
  }
  return true;
}

function entriesOf(path: string): string[] {
  const entries: string[] = [];
  const folder = opendirSync(path);
  for (let entry = folder.readSync(); entry && entries.length <= MOST_ENTRIES; entry = folder.readSync()) {
    entries.push(join(path, entry.name));
  }
  folder.closeSync();
  return entries;
}

export function giveDisposable({ uid, gid }: KernelUser, { mounts }: ForeignCommand): void {
  const give = (path: string): void => {
    lchownSync(path, uid, gid);
    if (lstatSync(path).isDirectory()) for (const entry of readdirSync(path)) give(join(path, entry));
  };
  for (const { source, writable, disposable } of mounts) if (writable && disposable) give(source);
}

/** Shell script that bind-mounts pairs of paths up to a dash, then runs the rest of its arguments. */
const STAGE = 'set -e; while [ "$1" != - ]; do /usr/bin/mount --rbind -- "$1" "$2"; shift 2; done; shift; exec "$@"';

/**
 * Builds a command prefix that runs a launcher as that user, and adjusts the view to it. Sources that the user cannot reach, because a parent folder is closed, are bind-mounted below
 * `folder`. This happens as root, in a mount namespace that ends with the program.
 */
export function prefixFor({ uid, gid }: KernelUser, view: readonly ViewStep[], folder: string) {
  const pairs: string[] = [];
  const stage = (step: ViewStep, place: string): ViewStep => {
    const [flag, source = "", target = ""] = step;
    if (!flag.endsWith("bind") || isReachable(source)) return step;
    if (statSync(source).isDirectory()) mkdirSync(place);
    else writeFileSync(place, "");
    pairs.push(source, place);
    return [flag, place, target];
  };
  const staged = view.map((step, i) => stage(step, join(folder, `${i}`)));
  const staging = ["/usr/bin/unshare", "--mount", "--propagation=private", "--", "/bin/sh", "-c", STAGE, "stage"];
  const become = [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--inh-caps=-all", "--no-new-privs"];
  return {
    view: staged,
    argv: [...(pairs.length === 0 ? [] : [...staging, ...pairs, "-"]), "/usr/bin/setpriv", ...become, "--"],
  };
}

/** Checks whether all users may pass through the folders above a path. */
function isReachable(path: string): boolean {
  for (let folder = dirname(realpathSync(path)); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o1) === 0) return false;
    if (folder === "/") return true;
  }
}
