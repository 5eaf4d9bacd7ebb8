import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Model, memoryStore, openProject, SkillflowError, type Workflow } from "skillflow";
import { scriptedModel } from "skillflow/testing";
import { describe, expect, it } from "vitest";
import { makeProject } from "../../cli/program.ts";

/** Workflows that nodes run, from code and from files. */

const node = (id: string) => ({ name: id, instruction: `Do ${id}.` });
const one = (id: string): Workflow => ({ id, name: id, entry: "look", nodes: { look: node("look") }, edges: [] });
const calling = (call: string, id = "outer"): Workflow => ({
  id,
  name: id,
  entry: "ask",
  nodes: { ask: { name: "Ask", call } },
  edges: [],
});

const open = (directory: string, count = 10) =>
  openProject({
    directory,
    env: {},
    models: { acme: scriptedModel(Array.from({ length: count }, () => ({ text: "done" }))) },
    store: memoryStore(),
  });

async function problems(files: Readonly<Record<string, unknown>>, document: string | Workflow = "outer.yml") {
  const directory = makeProject({ ".git/HEAD": "", ...files });
  const found = await (await open(directory)).validate(document);
  return found.filter(({ severity }) => severity === "error").map(({ message }) => message);
}

describe("a workflow object", () => {
  it("runs the inline workflow of its map", async () => {
    const flow: Workflow = {
      id: "many",
      name: "Many",
      entry: "each",
      nodes: {
        each: {
          name: "Each",
          map: { over: "input.list", as: "item", key: "item.id", concurrency: 2 },
          entry: "look",
          nodes: { look: node("look") },
          edges: [],
        },
      },
      edges: [],
    };
    const project = await open(makeProject());
    const result = await project.run(flow, { input: { list: [{ id: "a" }, { id: "b" }] }, model: "acme:large" }).result;
    expect(result).toMatchObject({
      status: "succeeded",
      results: { each: { data: { items: [{ key: "a" }, { key: "b" }], left: 0, failed: 0 } } },
      trace: { inner: { "each[a]": {}, "each[b]": {} } },
    });
  });

  it("names files from the working directory", async () => {
    const project = await open(makeProject({ "parts/expert.yml": one("expert") }));
    const result = await project.run(calling("./parts/expert.yml"), { model: "acme:large" }).result;
    expect(result).toMatchObject({
      status: "succeeded",
      results: { ask: { data: { results: { look: { summary: "done" } } } } },
    });
  });
});

describe("a file that a node runs", () => {
  it("is resolved relative to its document", async () => {
    expect(
      await problems({ "flows/outer.yml": calling("./in.yml"), "flows/in.yml": one("in") }, "flows/outer.yml"),
    ).toEqual([]);
    expect(await problems({ "flows/outer.yml": calling("./in.yml"), "in.yml": one("in") }, "flows/outer.yml")).toEqual([
      "there is no file ./in.yml",
    ]);
  });

  it("may be run by several nodes", async () => {
    const twice: Workflow = {
      ...calling("./in.yml"),
      nodes: { ask: { name: "A", call: "./in.yml" }, again: { name: "B", call: "./in.yml" } },
      edges: [{ from: "ask", to: "again" }],
    };
    expect(await problems({ "outer.yml": twice, "in.yml": one("in") })).toEqual([]);
  });

  it("is inside the project, with links resolved", async () => {
    const directory = makeProject({
      "far/in.yml": one("in"),
      "near/.git/HEAD": "",
      "near/outer.yml": calling("../far/in.yml"),
    });
    const project = await open(join(directory, "near"));
    const outside = await project.validate("outer.yml");
    expect(outside.map(({ message }) => message)).toEqual(["../far/in.yml is outside the project"]);
    mkdirSync(join(directory, "near", "flows"));
    symlinkSync(join(directory, "far", "in.yml"), join(directory, "near", "in.yml"));
    writeFileSync(join(directory, "near", "outer.yml"), JSON.stringify(calling("./in.yml")));
    const linked = await project.validate("outer.yml");
    expect(linked.map(({ message }) => message)).toEqual(["./in.yml is outside the project"]);
  });

  it("does not run itself, also not through another", async () => {
    expect(await problems({ "outer.yml": calling("./outer.yml") })).toEqual(["./outer.yml runs itself"]);
    expect(await problems({ "outer.yml": calling("./in.yml"), "in.yml": calling("./outer.yml", "in") })).toEqual([
      "./outer.yml runs itself",
    ]);
  });

  it("is at most eight levels deep, the outermost included", async () => {
    const chain = (deep: number) =>
      Object.fromEntries(
        Array.from({ length: deep }, (_, index) => {
          const id = index === 0 ? "outer" : `w${index}`;
          return [`${id}.yml`, index === deep - 1 ? one(id) : calling(`./w${index + 1}.yml`, id)];
        }),
      );
    expect(await problems(chain(8))).toEqual([]);
    expect(await problems(chain(9))).toEqual(["workflows are nested more than 8 deep"]);
  });

  it("that is invalid is reported with its own file and line", async () => {
    const broken = [
      "id: in",
      "name: In",
      "entry: nowhere",
      "nodes:",
      "  look: { name: L, instruction: Look. }",
      "edges: []",
    ];
    const directory = makeProject({ ".git/HEAD": "", "outer.yml": calling("./in.yml"), "in.yml": broken.join("\n") });
    const found = await (await open(directory)).validate("outer.yml");
    expect(found.find(({ code }) => code === "MISSING_ENTRY")).toMatchObject({ file: "in.yml", line: 3 });
  });

  it("that many nodes run is read in linear time", async () => {
    const wide = (next: string, id: string): Workflow => {
      const ids = Array.from({ length: 20 }, (_, index) => `n${index}`);
      return {
        id,
        name: id,
        entry: "n0",
        nodes: Object.fromEntries(ids.map((each) => [each, { name: each, call: next }])),
        edges: ids.slice(1).map((each, index) => ({ from: ids[index] ?? "", to: each })),
      };
    };
    const files = Object.fromEntries(
      Array.from({ length: 7 }, (_, index) => {
        const id = index === 0 ? "outer" : `w${index}`;
        return [`${id}.yml`, index === 6 ? one(id) : wide(`./w${index + 1}.yml`, id)];
      }),
    );
    expect((await problems(files))[0]).toMatch(/more than 1000 workflows/);
  });

  it("is pinned when the run starts: an edit does not change a run that resumes", async () => {
    const two: Workflow = {
      ...one("in"),
      nodes: { look: node("look"), tell: node("tell") },
      edges: [{ from: "look", to: "tell" }],
    };
    const directory = makeProject({ ".git/HEAD": "", "outer.yml": calling("./in.yml"), "in.yml": two });
    const asked: string[] = [];
    const model: Model = {
      provider: "acme",
      async reply(prompt, { node }) {
        asked.push(`${node}: ${/Do [^.]*\./.exec(prompt.text)?.[0]}`);
        if (asked.length === 2) throw new SkillflowError("model.quota", "no more");
        return { parts: [{ type: "text", text: "done" }], stop: "end", usage: null };
      },
    };
    const project = await openProject({ directory, env: {}, models: { acme: model }, store: memoryStore() });
    const run = project.run("outer.yml", { model: "acme:large" });
    expect((await run.result).status).toBe("failed");
    writeFileSync(
      join(directory, "in.yml"),
      JSON.stringify({ ...two, nodes: { look: node("look"), tell: node("other") } }),
    );
    expect((await project.resume(await run.id).result).status).toBe("succeeded");
    expect(asked).toEqual(["look: Do look.", "tell: Do tell.", "tell: Do tell."]);
  });
});
