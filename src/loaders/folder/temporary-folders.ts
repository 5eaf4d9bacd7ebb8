import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { attempt } from "../../core/base/errors.ts";
import type { ProcessMark } from "../../core/engine/ports.ts";
import { isWithin } from "../../files/files.ts";
import { temporaryName, temporaryOwner } from "../../files/temporary-name.ts";
import type { LoaderHost } from "./host.ts";

interface Sweeper {
  readonly self: ProcessMark;
  readonly isAlive: (mark: ProcessMark) => boolean;
  /** Undefined on systems without user ids. */
  readonly uid: number | undefined;
}

/** Removes temporary folders of our processes that were killed. Ignores errors. */
export function sweepTemporaries(sweeper: Sweeper): void {
  for (const directory of new Set([tmpdir(), "/tmp"])) sweepFolder(directory, sweeper);
}

export function sweepFolder(directory: string, { self, isAlive, uid }: Sweeper): void {
  const left = (attempt(() => readdirSync(directory)) ?? []).filter((name) => {
    const owner = temporaryOwner(name, self);
    return owner !== undefined && !isAlive(owner);
  });
  for (const name of left) {
    const path = join(directory, name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isDirectory() && (uid === undefined || uid === 0 || stats.uid === uid)) remove(path);
  }
}

function remove(path: string): void {
  attempt(() => rmSync(path, { recursive: true, force: true }));
}

/** Content of a digested file, or the target of a link. */
export type Digested = { readonly content: Buffer; readonly isProgram: boolean } | { readonly link: string };

export type Copier = Pick<LoaderHost, "self" | "atExit">;

/**
 * Copies digested files to a folder that no other user can write to, and returns the copy of each place. `read` throws
 * if a file has changed, so exactly the checked content runs.
 */
export function copyPlaces(
  places: readonly string[],
  files: Iterable<string>,
  read: (file: string) => Digested,
  { self, atExit }: Copier,
): ReadonlyMap<string, string> {
  const top = mkdtempSync(join(tmpdir(), temporaryName("trusted", self)));
  atExit?.(() => remove(top));
  const copies = new Map(places.map((place, index) => [place, join(top, String(index))]));
  for (const [place, copy] of copies) if (lstatSync(place).isDirectory()) mkdirSync(copy);
  for (const file of files) {
    const [place = "", copy = ""] = [...copies].find(([each]) => isWithin(each, file)) ?? [];
    if (place === "") continue;
    const target = join(copy, relative(place, file));
    const found = read(file);
    mkdirSync(dirname(target), { recursive: true });
    if ("link" in found) symlinkSync(found.link, target);
    else writeFileSync(target, found.content, { mode: found.isProgram ? 0o755 : 0o644, flag: "wx" });
  }
  return copies;
}
