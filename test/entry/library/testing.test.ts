import { defineSkill, defineTool, memoryStore, openProject, type RunEvent, type Workflow } from "skillflow";
import { type Fixtures, fixtureSkill, recordedFixtures, scriptedModel, toolContext } from "skillflow/testing";
import { expect, it } from "vitest";
import { makeProject } from "../../cli/program.ts";

const FLOW: Workflow = {
  id: "triage",
  name: "Triage",
  entry: "look",
  nodes: { look: { name: "Look", instruction: "Look the issue up.", skills: ["sentry"] } },
  edges: [],
};

/** Runs a model that makes these calls, with fixtures as the answers of the skill's tools. */
async function runWith(
  fixtures: Fixtures,
  ...calls: { readonly tool: string; readonly input: Record<string, string> }[]
) {
  const project = await openProject({
    directory: makeProject(),
    env: {},
    skills: [await fixtureSkill("sentry", fixtures)],
    models: { test: scriptedModel([{ calls }, { text: "looked" }]) },
    store: memoryStore(),
  });
  const { results, status } = await project.run(FLOW, { model: "test:any" }).result;
  return { status, calls: results.look?.toolCalls ?? [] };
}

const asks = (issue: string) => ({ tool: "sentry_get_issue", input: { issue } });

it("a built-in skill's tools answer from fixtures, without its config: the first row that fits", async () => {
  const rows = [{ when: { issue: "SHOP-*" }, output: { title: "boom" } }, { error: "404: no such issue" }];
  const { status, calls } = await runWith({ sentry_get_issue: rows }, asks("SHOP-14"), asks("OTHER-1"));
  expect(status).toBe("succeeded");
  expect(calls.map(({ output, error }) => output ?? error)).toEqual([{ title: "boom" }, "404: no such issue"]);
});

it("a call without a fixture fails with a message", async () => {
  const { calls } = await runWith({}, asks("SHOP-14"));
  expect(calls[0]?.error).toBe("no fixture for sentry_get_issue");
});

it("a recorded run's answers are used again, each for its input", async () => {
  const place = { seq: 0, time: "", epoch: 0, key: "", node: "look", tool: "notes_find" };
  const events = ["a*", "b"].flatMap((q): RunEvent[] => [
    { ...place, type: "tool:call", ref: `r-${q}`, id: q, input: { q, deep: [{ q }] } },
    { ...place, type: "tool:result", ref: `r-${q}`, id: q, ...(q === "b" ? { error: "none" } : { output: [q] }) },
  ]);
  const find = defineTool({ name: "find", description: "", input_schema: { type: "object" }, handler: () => "real" });
  const notes = defineSkill({ id: "notes", name: "", description: "", category: "general", config: {}, tools: [find] });
  const { tools } = await fixtureSkill(notes, recordedFixtures(events));
  const ask = (q: string) => tools[0]?.handler({ q, deep: [{ q }] }, toolContext());
  expect(ask("a*")).toEqual(["a*"]);
  expect(() => ask("b")).toThrow("none");
  expect(() => ask("ab")).toThrow("no fixture for notes_find");
});

it("a custom skill has fixtures too, and a name that is not one of its tools is reported", async () => {
  const pager = defineSkill({
    id: "pager",
    name: "Pager",
    description: "",
    category: "general",
    config: { TOKEN: { description: "", required: true } },
    tools: [defineTool({ name: "page", description: "", input_schema: { type: "object" }, handler: () => "real" })],
  });
  const { config, tools } = await fixtureSkill(pager, { pager_page: [{ output: "fixed" }] });
  expect([config, tools[0]?.handler({}, toolContext())]).toEqual([{}, "fixed"]);
  await expect(fixtureSkill(pager, { pager_pge: [] })).rejects.toThrow("has no tool pager_pge");
  await expect(fixtureSkill("../pager", {})).rejects.toThrow("no built-in skill");
  expect(() => scriptedModel([{ txt: "?" } as never])).toThrow("the script is not valid");
});
