import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { audienceOf, callHandler } from "../../../src/core/skill/skill.ts";
import { loadBuiltinSkill, tellBuiltinSkill } from "../../../src/loaders/registry/builtin.ts";
import { toolContext } from "../../../src/testing.ts";
import { installation, makeProject } from "../../cli/program.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");

/** A built-in skill whose code leaves a mark when it is loaded. */
const pager = (mark: string) => `
  require("node:fs").writeFileSync(${JSON.stringify(mark)}, "loaded");
  module.exports = {
    id: "pager", name: "Pager", description: "Pages.", category: "tasks", config: { ROOM: { description: "r" } },
    probe: async () => "it answers",
    lacks: async ({ texts }) => (texts.includes("page") ? undefined : "nobody speaks of pages"),
    tools: [
      { name: "look", description: "l", input_schema: { type: "object" }, effect: "read", live: true, handler: () => 1 },
      { name: "page", description: "p", input_schema: { type: "object" }, needs: ["ROOM"], settled_by: { room: "ROOM" },
        audience: ({ room }) => (room === "ours" ? "team" : "public"), handler: ({ room }) => "paged " + room },
    ],
  };`;

function builtPager() {
  const mark = join(makeProject(), "mark");
  const directory = makeProject({ "SKILL.md": "---\nname: pager\n---\nPage wisely.\n", "skill.js": pager(mark) });
  return { directory, wasLoaded: () => existsSync(mark) };
}

const TOLD = `{"id":"pager","name":"Pager","description":"Pages.","category":"tasks","config":{"ROOM":{"description":"r"}},
  "probe":true,"lacks":true,"instruction":"Page wisely.","tools":[
  {"name":"look","description":"l","input_schema":{"type":"object"},"effect":"read","live":true,"handler":true},
  {"name":"page","description":"p","input_schema":{"type":"object"},"needs":["ROOM"],"settled_by":{"room":"ROOM"},
   "audience":true,"handler":true,"effect":"write"}]}`;

describe("a built-in skill", () => {
  it("is described as data, except for parts that its code implements", async () => {
    const { directory } = builtPager();
    expect(JSON.parse(await tellBuiltinSkill(directory))).toEqual(JSON.parse(TOLD));
  });

  it("that its build described is known without its code, which is loaded when one of its functions is called", async () => {
    const { directory, wasLoaded } = builtPager();
    writeFileSync(join(directory, "skill.json"), TOLD);
    const { tools, probe, lacks, ...rest } = await loadBuiltinSkill(directory);
    const [look, page] = tools;
    if (!look || !page) throw new Error("its tools are missing");
    expect(rest).toMatchObject({ id: "pager", instruction: "Page wisely." });
    expect([look.live, page.needs, typeof page.audience, look.audience]).toEqual([
      true,
      ["ROOM"],
      "function",
      undefined,
    ]);
    expect(wasLoaded()).toBe(false);
    expect(await callHandler(page, { room: "ours" }, toolContext())).toBe("paged ours");
    expect(wasLoaded()).toBe(true);
    expect(await audienceOf(page, { room: "ours" }, toolContext())).toBe("team");
    expect(await audienceOf(page, { room: "all" }, toolContext())).toBe("public");
    expect(await probe?.(toolContext())).toBe("it answers");
    const outlook = { config: {}, workDir: "/" };
    expect(await lacks?.({ ...outlook, texts: [] })).toBe("nobody speaks of pages");
    expect(await lacks?.({ ...outlook, texts: ["page"] })).toBeUndefined();
  });

  it.each(readdirSync(join(ROOT, "skills")))(
    "%s is described by the build as its code and its document are",
    async (id) => {
      const told = readFileSync(join(installation().directory, "dist/skills", id, "skill.json"), "utf8");
      expect(JSON.parse(told)).toEqual(JSON.parse(await tellBuiltinSkill(join(ROOT, "skills", id))));
    },
  );
});
