import { describe, expect, test } from "vitest";
import { MAKER_TOOLS } from "../../../../src/core/engine/tools/tool-maker.ts";
import {
  calls,
  eventsOf,
  MAKER,
  type NodeParts,
  OPS,
  play,
  recordOf,
  resultAt,
  skillOf,
  toolOf,
  workflowOf,
} from "../../../harness/harness.ts";

const notes = skillOf("notes", [], { instruction: "Take notes.", description: "How to take notes" });
const maps = skillOf("maps", [toolOf("maps", "find")], { instruction: "Read maps.", files: ["ref/a.md", "ref/b.md"] });
const atlas = skillOf("atlas", [], { files: ["map.md"] });
const mute = skillOf("mute", [toolOf("mute", "t")], { description: "Tools alone" });
const gone = skillOf("gone", [], { instruction: "Never seen.", files: ["x.md"], available: false });
const prober = skillOf("prober", [], { instruction: "Probe.", scripts: "read" });
const fixer = skillOf("fixer", [], { instruction: "Fix.", scripts: "write" });
const SKILLS = [prober, fixer, notes, maps, atlas, mute, gone, OPS, MAKER];

type Mode = "full" | "readOnDemand";
const playAt = (
  node: NodeParts,
  mode: Mode,
  options: Parameters<typeof play>[1] = {},
  writes: "allow" | "deny" = "allow",
) => play(recordOf(workflowOf({ a: node }), { skills: SKILLS, settings: { context_mode: mode, writes } }), options);
const firstPrompt = (...args: Parameters<typeof playAt>) => {
  const [ask] = playAt(...args).asks;
  if (!ask) throw new Error("nothing was asked");
  return ask.prompt;
};
const names = (...args: Parameters<typeof playAt>) => firstPrompt(...args).tools.map(({ name }) => name);
const readable = (...args: Parameters<typeof playAt>) => {
  const tool = firstPrompt(...args).tools.find(({ name }) => name === "read_skill");
  return (tool?.input_schema.properties as { skill_name: { enum: string[] } } | undefined)?.skill_name.enum;
};

describe("skills that are read on demand", () => {
  test("are one section: how to read them, and their names in the node's order", () => {
    const { text } = firstPrompt({ skills: ["maps", "mute", "gone", "notes"] }, "readOnDemand");
    const [intro, heading, bullets, ...rest] = (text.split("\n\n---\n\n")[0] ?? "").split("\n\n");
    expect(intro).toContain("`read_skill`");
    expect(heading).toBe("## Available skills");
    expect(bullets).toBe("- **maps**: (no description)\n- **notes**: How to take notes");
    expect(rest).toEqual([]);
    expect(text).not.toContain("Read maps.");
  });

  test("are offered with the tool that reads exactly those of the node", () => {
    expect(names({ skills: ["maps", "mute"] }, "readOnDemand")).toEqual([
      "maps_find",
      "mute_t",
      "read_result",
      "read_skill",
    ]);
    expect(readable({ skills: ["maps", "mute", "gone", "notes"] }, "readOnDemand")).toEqual(["maps", "notes"]);
  });

  test.each<[string, NodeParts]>([
    ["without skills", {}],
    ["whose skills are unavailable", { skills: ["gone"] }],
    ["whose skills have no instruction", { skills: ["mute"] }],
  ])("add no section and no tool to a node %s", (_, node) => {
    expect(firstPrompt(node, "readOnDemand").text).toMatch(/^do a(\n\nCite results in claims .*)?$/);
    expect(names(node, "readOnDemand")).not.toContain("read_skill");
  });

  test.each<[string, NodeParts]>([
    ["denies it", { tools: { deny: ["read_skill"] } }],
    ["disallows built-in tools", { disallowed_tools: ["read_skill"] }],
  ])("are not listed if a node %s", (_, node) => {
    const prompt = firstPrompt({ skills: ["notes"], ...node }, "readOnDemand");
    expect(prompt.tools.map(({ name }) => name)).toEqual(["read_result"]);
    expect(prompt.text).toBe("do a\n\nCite results in claims by their reference, e.g. r7.");
  });

  test("remain readable if only reads are allowed, and if `allow` names tools of skills", () => {
    expect(names({ skills: ["notes"], effects: "read" }, "readOnDemand")).toEqual(["read_result", "read_skill"]);
    expect(names({ skills: ["maps"], tools: { allow: ["read_skill"] } }, "readOnDemand")).toEqual([
      "read_result",
      "read_skill",
    ]);
    expect(names({ skills: ["maps"], tools: { allow: ["find"] } }, "readOnDemand")).toEqual([
      "maps_find",
      "read_result",
      "read_skill",
    ]);
  });

  test("cost a line each: fifty of 20 kB need less than 8 kB", () => {
    const description = "Tells how to find out why a service of this kind is slow or down, and what to do about it";
    const many = Array.from({ length: 50 }, (_, index) =>
      skillOf(`service-${index}`, [], { description, instruction: "x".repeat(20_000) }),
    );
    const node = { a: { skills: many.map(({ id }) => id) } };
    const size = (context_mode: Mode) => {
      const [ask] = play(recordOf(workflowOf(node), { skills: many, settings: { context_mode } })).asks;
      return Buffer.byteLength(`${ask?.prompt.text}${JSON.stringify(ask?.prompt.tools)}`);
    };
    expect(size("full")).toBeGreaterThan(1_000_000);
    expect(size("readOnDemand")).toBeLessThan(8_000);
  });
});

describe("the order of tools", () => {
  const at = (lists: Record<string, string[]>) => {
    const nodes = Object.fromEntries(Object.entries(lists).map(([id, skills]) => [id, { skills }]));
    const ids = Object.keys(lists);
    const edges = ids.slice(1).map((id, index) => `${ids[index]} -> ${id}`);
    const { asks } = play(recordOf(workflowOf(nodes, edges), { skills: SKILLS }));
    return asks.map(({ prompt }) => prompt.tools.map(({ name }) => name));
  };

  test("is the same for the whole workflow, the skills of most nodes first, so that requests share a prefix", () => {
    expect(at({ a: ["mute", "maps"], b: ["maps"], c: ["maps", "mute"] })).toEqual([
      ["maps_find", "mute_t", "read_result", "read_skill"],
      ["maps_find", "read_result", "read_skill"],
      ["maps_find", "mute_t", "read_result", "read_skill"],
    ]);
  });
});

describe("skills whose instructions are in the prompt", () => {
  test("offer read_skill only if they bundle files, for those alone", () => {
    expect(names({ skills: ["notes", "mute"] }, "full")).toEqual(["mute_t", "read_result"]);
    expect(names({ skills: ["notes", "maps"] }, "full")).toEqual(["maps_find", "read_result", "read_skill"]);
    expect(readable({ skills: ["notes", "maps", "gone"] }, "full")).toEqual(["maps"]);
  });

  test("are not read again: their files are named", () => {
    const options = { answers: [calls(["read_skill", { skill_name: "maps" }])] };
    const played = playAt({ skills: ["maps"] }, "full", options);
    expect(played.called).toEqual([]);
    expect(resultAt(played, "a").toolCalls).toEqual([
      {
        ref: "r1",
        tool: "read_skill",
        input: { skill_name: "maps" },
        output: "The instructions of maps are already above. Its files, read with `path`: ref/a.md, ref/b.md",
      },
    ]);
  });
});

test("a skill that consists of files states that", () => {
  const answers = [calls(["read_skill", { skill_name: "atlas" }])];
  expect(resultAt(playAt({ skills: ["atlas"] }, "full", { answers }), "a").toolCalls[0]?.output).toBe(
    "atlas has no instructions. Its files, read with `path`: map.md",
  );
});

describe("a read_skill call", () => {
  const readings = (...inputs: object[]) => calls(...inputs.map((input) => ["read_skill", input as never] as const));
  const node = { skills: ["notes", "maps"] };

  test.each<[string, object, string]>([
    ["a skill of no node", { skill_name: "nope" }, "unknown skill: nope"],
    ["a skill of another node", { skill_name: "ops" }, "unknown skill: ops"],
    ["an unavailable skill", { skill_name: "gone" }, "unknown skill: gone"],
    ["nothing", {}, "missing skill_name"],
    ["a path that is not a string", { skill_name: "maps", path: 7 }, "invalid input: path must be string"],
  ])("of %s fails as data", (_, input, error) => {
    const played = playAt(node, "readOnDemand", { answers: [readings(input)] });
    expect(resultAt(played, "a")).toMatchObject({ status: "success", toolCalls: [{ error }] });
    expect(played.called).toEqual([]);
  });

  test("whose arguments are not an object fails as data", () => {
    const played = playAt(node, "readOnDemand", { answers: [calls(["read_skill", "notes"])] });
    expect(resultAt(played, "a").toolCalls[0]?.error).toBe("arguments must be an object");
  });

  test("of one body happens once in a visit, in one turn and in later ones", () => {
    const twice = readings({ skill_name: "notes" }, { skill_name: "notes" }, { skill_name: "maps" });
    const played = playAt(node, "readOnDemand", { answers: [twice, readings({ skill_name: "notes" })] });
    expect(played.called.map(({ input }) => input)).toEqual([{ skill_name: "notes" }, { skill_name: "maps" }]);
    const above = "The instructions of notes are already above.";
    expect(resultAt(played, "a").toolCalls.map(({ output }) => output)).toEqual(["ok", above, "ok", above]);
  });

  test("that was refused does not count as read", () => {
    const refused = readings({ skill_name: "notes", more: 1 }, { skill_name: "notes" });
    expect(playAt(node, "readOnDemand", { answers: [refused] }).called).toHaveLength(1);
  });

  test("of files happens each time", () => {
    const file = { skill_name: "maps", path: "ref/a.md" };
    const played = playAt(node, "readOnDemand", { answers: [readings(file, file, { skill_name: "maps" })] });
    expect(played.called).toHaveLength(3);
  });

  test("happens again in another visit and in another attempt", () => {
    const workflow = workflowOf({ a: node, b: node }, ["a -> b"]);
    const answers = [readings({ skill_name: "notes" }), "done", readings({ skill_name: "notes" }), "done"];
    const settings = { context_mode: "readOnDemand" as const };
    expect(play(recordOf(workflow, { skills: SKILLS, settings }), { answers }).called).toHaveLength(2);
    const rule = { any_tool_called: ["never"] };
    const retried = { ...node, eval: [{ name: "e", kind: "function" as const, rule }], retry: { max: 1 } };
    expect(playAt(retried, "readOnDemand", { answers }).called).toHaveLength(2);
  });

  test("counts as a call of that name for evaluators", () => {
    const rule = { all_tools_called: ["read_skill"] };
    const played = playAt({ ...node, eval: [{ name: "e", kind: "function", rule }] }, "readOnDemand", {
      answers: [readings({ skill_name: "notes" })],
    });
    expect(resultAt(played, "a").status).toBe("success");
  });
});

describe("the tools that a run defines", () => {
  const define = (name: string, more: object = {}) =>
    calls(["tool-maker_define_tool", { name, description: `does ${name}`, code: "return 1;", ...more }]);
  const node = { skills: ["ops", "tool-maker"] };
  const offers = ({ asks }: ReturnType<typeof play>) =>
    asks.map(({ prompt }) => prompt.tools.map(({ name }) => name).filter((name) => name.startsWith("tool-maker_")));
  const own = MAKER_TOOLS.map(({ name }) => `tool-maker_${name}`);

  test("can be called from the next turn on", () => {
    const parameters = '{"city":{"type":"string","description":"c"}}';
    const played = playAt(node, "full", {
      answers: [define("weather", { parameters }), calls(["tool-maker_weather", { city: "Oslo" }])],
    });
    expect(offers(played)).toEqual([own, [...own, "tool-maker_weather"], [...own, "tool-maker_weather"]]);
    const call = played.called.at(-1);
    expect(call).toMatchObject({
      tool: { skill: "tool-maker", name: "weather", effect: "write", idempotent: false },
      input: { city: "Oslo" },
      made: { code: "return 1;", persistent: false },
    });
    expect(call?.tool.input_schema).toMatchObject({ required: ["city"] });
  });

  test("are in the event list, after the result of the call that defined them", () => {
    const { events } = playAt(node, "full", { answers: [define("weather", { persistent: "true" })] });
    expect(eventsOf(events, "tool:defined")).toMatchObject([
      { node: "a", code: "return 1;", persistent: true, id: "1:a/0/1/0", tool: { exposed: "tool-maker_weather" } },
    ]);
    const at = events.findIndex(({ type }) => type === "tool:defined");
    expect(events[at - 1]).toMatchObject({ type: "tool:result", id: "1:a/0/1/0", key: events[at]?.key });
  });

  test("are offered at every later node that lists tool-maker, and at no other", () => {
    const workflow = workflowOf({ a: node, b: { skills: ["ops"] }, c: { skills: ["tool-maker"] } }, [
      "a -> b",
      "b -> c",
    ]);
    const played = play(recordOf(workflow, { skills: SKILLS }), { answers: [define("weather"), "done", "done"] });
    expect(offers(played).slice(-2)).toEqual([[], [...own, "tool-maker_weather"]]);
  });

  test.each<[string, NodeParts, "allow" | "deny", string[]]>([
    ["effects: read", { ...node, effects: "read" }, "allow", []],
    ["writes: deny", node, "deny", []],
    ["deny", { ...node, tools: { deny: ["weather"] } }, "allow", own],
    ["allow that does not name them", { ...node, tools: { allow: ["define_tool"] } }, "allow", own.slice(0, 1)],
    ["allow that names them", { ...node, tools: { allow: ["weather"] } }, "allow", ["tool-maker_weather"]],
  ])("are subject to %s", (_, later, writes, expected) => {
    const workflow = workflowOf({ a: node, b: later }, ["a -> b"]);
    const past = play(recordOf(workflow, { skills: SKILLS }), { answers: [define("weather"), INTERRUPTED] }).events;
    const resumed = play(recordOf(workflow, { skills: SKILLS }), { past, epoch: 1, resume: { settings: { writes } } });
    expect(offers(resumed).at(-1)).toEqual(expected);
  });

  test("are defined again under the same name", () => {
    const { state } = playAt(node, "full", { answers: [define("x"), define("x", { code: "return 2;" })] });
    expect(state.run.made.map(({ code }) => code)).toEqual(["return 2;"]);
  });

  test("are gone once removed", () => {
    const played = playAt(node, "full", {
      answers: [define("x"), calls(["tool-maker_remove_tool", { name: "x" }]), calls("tool-maker_x")],
    });
    expect(played.called.map(({ made }) => made?.tool.name)).toEqual([undefined, "x"]);
    expect(eventsOf(played.events, "tool:removed")).toMatchObject([{ node: "a", name: "x" }]);
    expect(resultAt(played, "a").toolCalls.at(-1)?.error).toContain("no tool is named tool-maker_x");
    expect(played.state.run.made).toEqual([]);
  });

  test("do not exist when the call that should define them failed", () => {
    const played = playAt(node, "full", {
      answers: [define("x")],
      tools: () => ({ error: "no", code: "tool.failed", acted: "no" }),
    });
    expect(eventsOf(played.events, "tool:defined")).toEqual([]);
    expect(played.state.run.made).toEqual([]);
  });

  test("are in doubt after a crash like any other write, and exist again", () => {
    const record = recordOf(workflowOf({ a: node }), { skills: SKILLS });
    const first = play(record, { answers: [define("x"), calls("tool-maker_x")] });
    const cut = first.events.findLastIndex(({ type }) => type === "tool:call") + 1;
    const again = play(record, { past: first.events.slice(0, cut), epoch: 1 });
    expect(again.called).toEqual([]);
    expect(resultAt(again, "a").toolCalls.at(-1)?.error).toContain("in doubt");
    expect(offers(again).at(-1)).toContain("tool-maker_x");
  });

  test("a filter that names one before it exists does not warn", () => {
    const { events } = playAt({ ...node, tools: { allow: ["define_tool", "later"] } }, "full");
    expect(eventsOf(events, "warning")).toEqual([]);
  });

  const INTERRUPTED = { type: "run:interrupt", reason: "interrupted" } as const;
});

describe("scripts of skills", () => {
  const runnable = (...args: Parameters<typeof playAt>) => {
    const tool = playAt(...args).asks[0]?.prompt.tools.find(({ name }) => name === "run_script");
    return (tool?.input_schema.properties as { skill_name: { enum: string[] } } | undefined)?.skill_name.enum;
  };
  test.each<[string, Parameters<typeof playAt>, string[] | undefined]>([
    ["run for the skills of the node", [{ skills: ["fixer", "notes", "prober"] }, "full"], ["fixer", "prober"]],
    ["do not run for a node without them", [{ skills: ["notes"] }, "full"], undefined],
    ["read alone where the node only reads", [{ skills: ["fixer", "prober"], effects: "read" }, "full"], ["prober"]],
    ["read alone where nothing is written", [{ skills: ["fixer", "prober"] }, "full", {}, "deny"], ["prober"]],
    [
      "do not run where the node denies it",
      [{ skills: ["fixer"], tools: { deny: ["run_script"] } }, "full"],
      undefined,
    ],
  ])("%s", (_, args, expected) => {
    expect(runnable(...args)).toEqual(expected);
  });
});
