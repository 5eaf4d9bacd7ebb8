import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { loadProjectConfig, loadUserConfig, projectRoot } from "../../../src/loaders/documents/project-config.ts";

const root = mkdtempSync(join(tmpdir(), "config-"));
let home = "";
let count = 0;
beforeEach(() => {
  home = join(root, String(count++));
  mkdirSync(join(home, "repo/.git"), { recursive: true });
  mkdirSync(join(home, "repo/deep/er"), { recursive: true });
});
afterAll(() => rmSync(root, { recursive: true }));
const put = (path: string, text: string) => writeFileSync(join(home, path), text);
const load = (text: string) => {
  put("repo/.skillflow.yml", text);
  return loadProjectConfig(join(home, "repo"))?.config;
};

describe("the search for a config file", () => {
  test("the nearest one applies, up to the repository's root", () => {
    put("repo/.skillflow.yml", "model: a:b");
    expect(loadProjectConfig(join(home, "repo/deep/er"))).toMatchObject({
      directory: join(home, "repo"),
      config: { model: "a:b" },
    });
    put("repo/deep/.skillflow.yml", "model: c:d");
    expect(loadProjectConfig(join(home, "repo/deep/er"))?.config.model).toBe("c:d");
  });

  test("never above the repository", () => {
    put(".skillflow.yml", "model: a:b");
    expect(loadProjectConfig(join(home, "repo/deep"))).toBeUndefined();
  });

  test("the root of a project is that of its repository, or the folder itself", () => {
    expect(projectRoot(join(home, "repo/deep/er"))).toBe(join(home, "repo"));
    expect(projectRoot(home)).toBe(home);
  });

  test("the user's own is found through XDG_CONFIG_HOME, otherwise below HOME", () => {
    mkdirSync(join(home, "xdg/skillflow"), { recursive: true });
    put("xdg/skillflow/config.yml", "model: x:y");
    mkdirSync(join(home, ".config/skillflow"), { recursive: true });
    put(".config/skillflow/config.yml", "model: h:i");
    expect(loadUserConfig({ XDG_CONFIG_HOME: join(home, "xdg"), HOME: home })?.config.model).toBe("x:y");
    expect(loadUserConfig({ HOME: home })?.config.model).toBe("h:i");
    expect(loadUserConfig({})).toBeUndefined();
  });
});

describe("the contents of a config file", () => {
  test("every setting", () => {
    const text =
      "model: a:b\nwrites: deny\nlimits: { timeout: 10m, max_steps: 3 }\nskills: { extraDirs: [x], disabled: [y], discover: false }\nfetch: { auth: { example.test: TOKEN } }";
    expect(load(text)).toEqual({
      model: "a:b",
      writes: "deny",
      limits: { timeout: "10m", max_steps: 3 },
      skills: { extraDirs: ["x"], disabled: ["y"], discover: false },
      fetch: { auth: { "example.test": "TOKEN" } },
    });
  });

  test.each(["", "# nothing\n", "~"])("%j is an empty one", (text) => {
    expect(load(text)).toEqual({});
  });

  test.each([
    ["modle: x", 'modle is not a known setting (did you mean "model"?)'],
    ["skills: { extraDir: [x] }", 'skills.extraDir is not a known setting (did you mean "extraDirs"?)'],
    ["writes: maybe", "writes"],
    ["limits: { max_cost_usd: two }", "limits.max_cost_usd must be a number"],
    ["limits: { timeout: soon }", "limits.timeout"],
    ["model: 7", "model"],
    ["- a", "the file must be a map, not a list"],
    ["model: [", ".skillflow.yml:1:8: this quote or bracket is not closed"],
    ["model:\n\t- a", ".skillflow.yml:2:1: the indentation has a tab: use spaces only"],
    ["limits:\n  max_stps: 1", ".skillflow.yml:2:3: limits.max_stps is not a known setting"],
    ["model: a\nmodel: b", '.skillflow.yml:2:1: the key "model" occurs twice in one map'],
  ])("%j is refused with a reason", (text, reason) => {
    expect(() => load(text)).toThrow(
      expect.objectContaining({ code: "config.invalid", message: expect.stringContaining(reason) }),
    );
  });

  test("all problems are reported at once", () => {
    expect(() => load("a: 1\nwrites: x\nmodel: 7")).toThrow(/a is not .*; |writes.*model|model.*writes/);
  });

  test("of very many problems the first twenty are reported", () => {
    const many = Array.from({ length: 10_000 }, (_, n) => `stranger_${n}: 1`).join("\n");
    expect(() => load(many)).toThrow(/stranger_19 is not a known setting[^;]*; and 9980 more$/);
  });
});
