import { mkdirSync, realpathSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openSight, type Sight } from "../../../src/loaders/folder/sight.ts";
import { makeFolder } from "../foreign.ts";

let root = "";

beforeEach(() => {
  root = realpathSync(makeFolder({ "a/file": "1", "a/other": "1", "b/file": "1" }));
  symlinkSync("a", join(root, "link"));
});

afterEach(() => {
  vi.restoreAllMocks();
});

type Step = (at: (path: string) => string, sight: Sight) => unknown;

/** Asks one hour after the files were made, so that their times are conclusive. */
function kept(ask: Step): () => boolean {
  vi.spyOn(Date, "now").mockReturnValue(Date.now() + 3_600_000);
  const sight = openSight();
  ask((path) => join(root, path), sight);
  const check = sight.keep();
  if (!check) throw new Error("the times were not conclusive");
  return check;
}

const write: (path: string) => Step = (path) => (at) => writeFileSync(at(path), "2");

describe("a saved sight", () => {
  it.each<[what: string, ask: Step, change: Step]>([
    ["a noted file is written", (at, sight) => sight.note(at("a/file")), write("a/file")],
    [
      "a noted file is written and its time set back",
      (at, sight) => sight.note(at("a/file")),
      (at) => {
        writeFileSync(at("a/file"), "2");
        utimesSync(at("a/file"), 1, 1);
      },
    ],
    [
      "a noted file is replaced",
      (at, sight) => sight.note(at("a/file")),
      (at) => renameSync(at("a/other"), at("a/file")),
    ],
    ["a listed folder gets a file", (at, sight) => sight.list(at("a")), write("a/new")],
    ["a listed folder loses a file", (at, sight) => sight.list(at("a")), (at) => rmSync(at("a/other"))],
    ["a missing file appears", (at, sight) => sight.exists(at("a/new")), write("a/new")],
    [
      "a missing file's folder appears",
      (at, sight) => sight.exists(at("new/folder/file")),
      (at) => mkdirSync(at("new"), { recursive: true }),
    ],
    [
      "one of many missing files appears",
      (at, sight) => ["1", "2", "3", "4", "5"].map((name) => sight.exists(at(`a/${name}`))),
      write("a/5"),
    ],
    [
      "one of many missing files appears where a link leads to",
      (at, sight) => ["1", "2", "3", "4", "5"].map((name) => sight.exists(at(`link/${name}`))),
      write("a/5"),
    ],
    [
      "a link leads to another folder",
      (at, sight) => sight.real(at("link/file")),
      (at) => {
        rmSync(at("link"));
        symlinkSync("b", at("link"));
      },
    ],
    [
      "a file becomes a folder",
      (at, sight) => sight.isFolder(at("a/file")),
      (at) => {
        rmSync(at("a/file"));
        mkdirSync(at("a/file"));
      },
    ],
    [
      "a link that was read is written again",
      (at, sight) => sight.link(at("link")),
      (at) => {
        rmSync(at("link"));
        symlinkSync("b", at("link"));
      },
    ],
  ])("notices that %s", (_, ask, change) => {
    const isSame = kept(ask);
    expect(isSame()).toBe(true);
    change((path) => join(root, path), openSight());
    expect(isSame()).toBe(false);
  });

  it("is not affected by changes to files that it did not check", () => {
    const isSame = kept((at, sight) => [sight.note(at("a/file")), sight.exists(at("a")), sight.exists(at("a/none"))]);
    write("a/new")((path) => join(root, path), openSight());
    expect(isSame()).toBe(true);
  });

  it("is not saved while a second change could not be distinguished from the first", () => {
    const sight = openSight();
    sight.note(join(root, "a/file"));
    expect(sight.keep()).toBeUndefined();
  });
});
