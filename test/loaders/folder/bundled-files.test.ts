import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { listBundled, readBundled } from "../../../src/loaders/folder/bundled-files.ts";
import { makeFolder } from "../foreign.ts";

const read = (directory: string, path: string) => readBundled("notes", directory, path);

describe("the files that a skill bundles for reading", () => {
  test.each<[string, Record<string, string>, string[]]>([
    [
      "references and assets",
      { "SKILL.md": "", "references/b.md": "", "references/a.md": "", "assets/t.csv": "" },
      ["assets/t.csv", "references/a.md", "references/b.md"],
    ],
    ["no manifest", { "SKILL.md": "", "tools.json": "[]", "allowlist.json": "{}", "execution.json": "[]" }, []],
    ["no manifest of other formats", { "skill.toml": "", "contract.yml": "", "binding.yaml": "", LICENSE: "" }, []],
    ["no handlers", { "SKILL.md": "", "tools.json": "[]", "scripts/a.py": "", "code/main.py": "", "lib.mjs": "" }, []],
    ["scripts that no manifest makes handlers", { "SKILL.md": "", "scripts/a.py": "" }, ["scripts/a.py"]],
    ["no code of a module", { "skill.ts": "", "client.ts": "", "package.json": "{}", "guide.md": "" }, ["guide.md"]],
    ["code that is not run", { "SKILL.md": "", "examples/a.py": "" }, ["examples/a.py"]],
    ["nothing hidden", { "SKILL.md": "", ".env": "", "references/.git/x": "", "node_modules/a/b.md": "" }, []],
  ])("are %s", (_, files, expected) => {
    expect(listBundled(makeFolder(files))).toEqual(expected);
  });

  test("are the first hundred, and none behind a link", () => {
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`references/${1000 + index}.md`, ""]));
    const directory = makeFolder(many);
    expect(listBundled(directory)).toHaveLength(100);
    expect(listBundled(directory)[99]).toBe("references/1099.md");
    const linked = makeFolder({ "SKILL.md": "" });
    symlinkSync(directory, join(linked, "references"));
    symlinkSync(join(directory, "references/1000.md"), join(linked, "a.md"));
    expect(listBundled(linked)).toEqual([]);
  });

  test("are read as text, also beyond the first hundred", async () => {
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`r/${1000 + index}.md`, `n ${index}`]));
    expect(await read(makeFolder(many), "r/1149.md")).toBe("n 149");
    expect(await read(makeFolder({ "a.md": "\uFEFFnaïve" }), "./a.md")).toBe("naïve");
    expect(await read(makeFolder({ "empty.md": "" }), "empty.md")).toBe("");
  });

  test("are cut beyond 256 KB, at a whole character, with a mark", async () => {
    const text = await read(makeFolder({ "a.md": `x${"é".repeat(200_000)}` }), "a.md");
    expect(text).toMatch(/^xé+\n\[… \d+ bytes left out: the file has 400001 …\]$/);
    expect(Buffer.byteLength(text)).toBeLessThan(256 * 1024 + 100);
  });

  test.each<[string, Buffer]>([
    ["with NUL", Buffer.from("a\0b")],
    ["that is no UTF-8", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe])],
    ["that begins inside a character", Buffer.from([0x80, 0x41])],
  ])("a file %s is refused by name", async (_, content) => {
    const directory = makeFolder();
    writeFileSync(join(directory, "pic.png"), content);
    await expect(read(directory, "pic.png")).rejects.toThrow(`pic.png is not text: a binary file of ${content.length}`);
  });

  test.each([
    ["../outside.md", "contains `..`"],
    ["/etc/passwd", "is outside of the directory"],
    ["a\\b", "contains a backslash"],
    ["a\0b", "contains a NUL"],
    ["nope.md", "does not exist"],
    ["references", "is not a regular file"],
    ["out.md", "leads out of the directory"],
    ["SKILL.md", "not a file that notes bundles"],
    ["tools.json", "not a file that notes bundles"],
    ["scripts/run.js", "not a file that notes bundles"],
    ["disguised.md", "not a file that notes bundles"],
    [".env", "not a file that notes bundles"],
  ])("%j is refused", async (path, message) => {
    const directory = makeFolder({
      "SKILL.md": "",
      "tools.json": "[]",
      "scripts/run.js": "",
      ".env": "KEY=1",
      "references/a.md": "",
    });
    symlinkSync("/etc/hostname", join(directory, "out.md"));
    symlinkSync(join(directory, ".env"), join(directory, "disguised.md"));
    await expect(read(directory, path)).rejects.toThrow(message);
  });
});
