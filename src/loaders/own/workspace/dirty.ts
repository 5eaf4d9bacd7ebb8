import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import { attempt, usageError } from "../../../core/base/errors.ts";
import type { RunRecord } from "../../../core/engine/event/record.ts";
import { isWithin, readPlainNow } from "../../../files/files.ts";
import { demand, git, type Repository } from "../../sources/commit-files.ts";
import { listTree } from "./copy.ts";
import { NO_RULES, segmentsOf, shown, whyClosed } from "./paths.ts";

/** `root` is the folder that has `.git`. */
interface Checkout extends Repository {
  readonly commit: string;
  readonly store: string | undefined;
  readonly isSecret: (text: string) => boolean;
}

const MOST = { files: 200, bytes: 2 * 1024 * 1024, ofFile: 400 * 1024, ofBase: 64 * 1024 * 1024, named: 20 };
const ENVIRONMENT_FILE = /(?:^|\/)\.env(?!\.(?:example|sample|template)$)(?:\.[^/]*)?$/i;

/**
 * Returns the uncommitted changes of a checkout, sorted by path, and describes those that are left out. Compares
 * contents, so that nothing runs that the checkout's config names. Follows no link.
 */
export function readDirty(checkout: Checkout) {
  const found = listTree(checkout, checkout.commit);
  // The option wins over core.worktree of the checkout's config, which may name any folder.
  const list = [`--work-tree=${checkout.root}`, "ls-files", "-zt", "--cached", "--others", "--exclude-standard"];
  const listed = demand(git(checkout, list)).stdout.toString("utf8").split("\0").filter(Boolean);
  const tags = new Map(listed.map((line) => [line.slice(2), line[0]]));
  const links = found.links.map((link) => ({ ...link, why: "link" }));
  const base: Base = new Map([...found.files, ...found.leftOut, ...links].map((each) => [each.path, each]));
  const dirty: NonNullable<RunRecord["dirty"]> = [];
  const left = new Map<string, string[]>();
  let bytes = 0;
  for (const path of [...new Set([...base.keys(), ...tags.keys()])].sort()) {
    const now = compare(checkout, base, { path, isSparse: tags.get(path) === "S" });
    if (typeof now === "string") left.set(now, [...(left.get(now) ?? []), shown(path)]);
    else if (now !== undefined) dirty.push({ path, content: now?.toString("utf8") ?? null });
    bytes += typeof now === "string" ? 0 : (now?.length ?? 0);
    if (dirty.length <= MOST.files && bytes <= MOST.bytes) continue;
    throw usageError("--workspace-dirty takes at most 200 files and 2 MB: commit some of the changes, or ignore files");
  }
  const leftOut = [...left].map(([why, names]) => {
    const more = names.length > MOST.named ? ` and ${names.length - MOST.named} more` : "";
    return `${names.slice(0, MOST.named).join(", ")}${more} (${why})`;
  });
  return { dirty, leftOut: leftOut.join("; ") };
}

type Base = ReadonlyMap<string, { readonly id?: string; readonly to?: string; readonly why?: string }>;

/** Returns a file's content if it differs from the base, null if it was deleted, or the reason to leave it out. */
function compare(
  { root, commit, store, isSecret }: Checkout,
  base: Base,
  { path, isSparse }: { readonly path: string; readonly isSparse: boolean },
) {
  const segments = attempt(() => segmentsOf(path));
  if (path.endsWith("/")) return "submodule";
  if (segments?.join("/") !== path || path.includes("\uFFFD")) return "unsafe name";
  const file = join(root, path);
  if (store !== undefined && isWithin(store, file)) return "runs";
  const stats = attempt(() => statsOf(root, path) ?? null);
  if (stats === undefined) return "unreadable";
  const { id, to } = base.get(path) ?? {};
  if (stats ? to !== undefined && attempt(() => readlinkSync(file)) === to : isSparse) return undefined;
  const why = segments.map((_, at) => base.get(segments.slice(0, at + 1).join("/"))?.why).find(Boolean);
  if (why !== undefined) return why;
  const isClosed = whyClosed(segments, NO_RULES) !== undefined;
  if (!stats || stats.isDirectory()) {
    if (id === undefined) return stats ? "submodule" : undefined;
    return isClosed ? "protected" : null;
  }
  if (!stats.isFile()) return stats.isSymbolicLink() ? "link" : "special file";
  if (stats.size > (id === undefined ? MOST.ofFile : MOST.ofBase)) return "larger than 400 KB";
  const content = attempt(() => readPlainNow(file));
  if (!content) return "unreadable";
  const hash = createHash(commit.length === 64 ? "sha256" : "sha1").update(`blob ${content.length}\0`);
  if (hash.update(content).digest("hex") === id) return undefined;
  if (isClosed) return "protected";
  if (content.length > MOST.ofFile) return "larger than 400 KB";
  if (!isUtf8(content) || content.includes(0)) return "binary file";
  if (ENVIRONMENT_FILE.test(path)) return "environment file";
  return [path, content.toString("utf8")].some(isSecret) ? "contains a secret" : content;
}

/** Returns what is at a path, or the link on the way to it. */
function statsOf(root: string, path: string): Stats | undefined {
  const above = path.includes("/") ? statsOf(root, dirname(path)) : undefined;
  if (above?.isDirectory() === false) return above.isSymbolicLink() ? above : undefined;
  return lstatSync(join(root, path), { throwIfNoEntry: false });
}
