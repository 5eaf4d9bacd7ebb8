import { spawnSync } from "node:child_process";
import { lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isWithin, makeFolder, openPlain, openPlainNow, replaceFile } from "../../src/files/files.ts";
import { makeFolder as temporary } from "../loaders/foreign.ts";

const modeOf = (path: string) => lstatSync(path).mode & 0o777;

describe("a file that is written", () => {
  test("is readable by its owner alone, as are the folders made for it, and existing folders are unchanged", async () => {
    const root = temporary();
    mkdirSync(join(root, "there"), { mode: 0o755 });
    await replaceFile(join(root, "there", "a", "b", "file"), "text", { root });
    expect(["there", "there/a", "there/a/b", "there/a/b/file"].map((path) => modeOf(join(root, path)))).toEqual([
      0o755, 0o700, 0o700, 0o600,
    ]);
  });

  test("replaces a link, and does not change the link's target", async () => {
    const [root, outside] = [temporary(), temporary({ secret: "as it was" })];
    symlinkSync(join(outside, "secret"), join(root, "file"));
    await replaceFile(join(root, "file"), "text", { root });
    expect(lstatSync(join(root, "file")).isFile()).toBe(true);
    expect(readFileSync(join(root, "file"), "utf8")).toBe("text");
    expect(readFileSync(join(outside, "secret"), "utf8")).toBe("as it was");
  });

  test.each([
    ["a folder that is a link out of the root", "out"],
    ["a folder behind such a link", "out/deeper/still"],
    ["a link to what is not there yet", "dangling/deeper"],
    ["two links, one after another", "again/deeper"],
  ])("is refused in %s, and nothing is created outside", async (_what, folder) => {
    const [root, outside] = [temporary(), temporary()];
    symlinkSync(outside, join(root, "out"));
    symlinkSync(join(outside, "missing"), join(root, "dangling"));
    symlinkSync("out", join(root, "again"));
    await expect(replaceFile(join(root, folder, "file"), "text", { root })).rejects.toThrow();
    expect(spawnSync("find", [outside, "-mindepth", "1"], { encoding: "utf8" }).stdout).toBe("");
  });

  test("may be behind a link that stays inside, and anywhere without a root", async () => {
    const [root, outside] = [temporary({ "real/.keep": "" }), temporary()];
    symlinkSync("real", join(root, "inner"));
    symlinkSync(outside, join(root, "out"));
    await replaceFile(join(root, "inner", "file"), "text", { root });
    await replaceFile(join(outside, "file"), "text", { root });
    await replaceFile(join(root, "out", "other"), "text");
    expect([join(root, "real", "file"), join(outside, "file"), join(outside, "other")].map(modeOf)).toEqual([
      0o600, 0o600, 0o600,
    ]);
  });

  test("leaves no temporary file if it cannot be moved into place", async () => {
    const root = temporary({ "file/inside": "" });
    await expect(replaceFile(join(root, "file"), "text")).rejects.toThrow();
    expect(spawnSync("ls", ["-A", root], { encoding: "utf8" }).stdout).toBe("file\n");
  });

  test.runIf(process.platform === "linux")("is refused if the system creates no folders, and does not wait", () => {
    expect(() => makeFolder("/proc/skillflow/deeper/still")).toThrow("ENOENT");
  });
});

describe("a file that is opened", () => {
  const shapes: [string, (path: string) => void][] = [
    ["a link", (path) => symlinkSync("/etc/passwd", path)],
    ["a link that leads nowhere", (path) => symlinkSync("nowhere", path)],
    ["a folder", (path) => mkdirSync(path)],
    ["a named pipe", (path) => void spawnSync("mkfifo", [path])],
  ];
  test.each(shapes)("is not %s", async (_what, make) => {
    const path = join(temporary(), "file");
    make(path);
    await expect(openPlain(path)).rejects.toThrow(/is a link|is not a regular file/);
    expect(() => openPlainNow(path)).toThrow(/is a link|is not a regular file/);
  });

  test("is a regular file", async () => {
    const path = join(temporary(), "file");
    writeFileSync(path, "text");
    const { file, stats } = await openPlain(path);
    expect([await file.readFile("utf8"), stats.ino]).toEqual(["text", statSync(path).ino]);
    await file.close();
  });
});

test("a path is within a root if it is the root or below it, not if it only begins with its name", () => {
  expect(["/a", "/a/b", "/a-b", "/ab/c", "/"].map((path) => isWithin("/a", path))).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
  expect(isWithin("/", "/a")).toBe(true);
});
