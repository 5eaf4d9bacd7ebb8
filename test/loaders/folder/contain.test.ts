import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openInside, resolveInside, resolveInsideNow } from "../../../src/loaders/folder/contain.ts";

let home = "";
let root = "";

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "contain-"));
  root = join(home, "root");
  await mkdir(join(root, "deep"), { recursive: true });
  await mkdir(join(home, "root-twin"));
  await writeFile(join(root, "a.txt"), "inside");
  await writeFile(join(root, "deep", "b.txt"), "deep");
  await writeFile(join(home, "secret.txt"), "secret");
  await writeFile(join(home, "root-twin", "c.txt"), "twin");
  await symlink(join(home, "secret.txt"), join(root, "out"));
  await symlink(home, join(root, "up"));
  await symlink("deep/b.txt", join(root, "in"));
  await symlink("nowhere", join(root, "dangling"));
});
afterAll(() => rm(home, { recursive: true }));

test.each([
  ["a.txt", "a.txt"],
  ["./deep//b.txt", "deep/b.txt"],
  ["in", "deep/b.txt"],
  ["", ""],
  [".", ""],
])("%j is inside, at %j", async (path, relative) => {
  expect(await resolveInside(root, path)).toMatchObject({ inside: true, relative });
});

test("an absolute path below the root is accepted", async () => {
  expect(await resolveInside(root, join(root, "a.txt"))).toMatchObject({ inside: true, relative: "a.txt" });
});

test.each([
  ["../secret.txt", "outside"],
  ["deep/../a.txt", "outside"],
  ["out", "outside"],
  ["up/secret.txt", "outside"],
  ["deep\\b.txt", "outside"],
  ["a.txt\0.log", "outside"],
  ["/etc/passwd", "outside"],
  ["dangling", "missing"],
  ["nothing", "missing"],
  ["a.txt/b", "missing"],
])("%j is refused as %s", async (path, reason) => {
  expect(await resolveInside(root, path)).toMatchObject({ inside: false, reason });
});

test("a neighbour whose name starts like the root is outside", async () => {
  expect(await resolveInside(root, join(home, "root-twin", "c.txt"))).toMatchObject({ reason: "outside" });
});

test("no path resolves to somewhere outside, async or sync", async () => {
  const segment = fc.constantFrom(
    "..",
    ".",
    "",
    "deep",
    "up",
    "out",
    "in",
    "secret.txt",
    "a.txt",
    "/",
    "~",
    "root-twin",
  );
  await fc.assert(
    fc.asyncProperty(fc.array(segment, { maxLength: 6 }), fc.boolean(), async (segments, absolute) => {
      const place = await resolveInside(root, (absolute ? "/" : "") + segments.join("/"));
      if (place.inside) expect(`${place.path}/`.startsWith(`${place.root}/`)).toBe(true);
      expect(resolveInsideNow(root, (absolute ? "/" : "") + segments.join("/"))).toEqual(place);
    }),
  );
});

test("a file that became a link after it was resolved is not opened", async () => {
  await writeFile(join(root, "swap"), "harmless");
  const place = await resolveInside(root, "swap");
  if (!place.inside) throw new Error(place.message);
  await rename(join(root, "swap"), join(root, "swapped"));
  await symlink(join(home, "secret.txt"), join(root, "swap"));
  expect(await openInside(place)).toMatchObject({ inside: false });
});

test("a directory that became a link after its file was resolved is not followed", async () => {
  await mkdir(join(root, "folder"));
  await writeFile(join(root, "folder", "secret.txt"), "harmless");
  const place = await resolveInside(root, "folder/secret.txt");
  if (!place.inside) throw new Error(place.message);
  await rename(join(root, "folder"), join(root, "folder-before"));
  await symlink(home, join(root, "folder"));
  expect(await openInside(place)).toMatchObject({ inside: false, reason: "outside" });
});

test("a named pipe is refused without waiting for a writer", async () => {
  execFileSync("mkfifo", [join(root, "pipe")]);
  const place = await resolveInside(root, "pipe");
  if (!place.inside) throw new Error(place.message);
  expect(await openInside(place)).toMatchObject({ inside: false, reason: "unreadable" });
});

test("a resolved file is opened with its stats", async () => {
  const place = await resolveInside(root, "a.txt");
  if (!place.inside) throw new Error(place.message);
  const opened = await openInside(place);
  if (!("file" in opened)) throw new Error(opened.message);
  expect([await readFile(opened.file, "utf8"), opened.stats.size]).toEqual(["inside", 6]);
  await opened.file.close();
});
