import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Workflow } from "../../../../src/core/document/workflow/workflow.ts";
import { findTaint, type NodeTaint, type Taint } from "../../../../src/core/outward/taint/taint.ts";
import type { DeclaredSkill } from "../../../../src/core/outward/taint/tools.ts";
import type { ToolDescriptor } from "../../../../src/core/skill/skill.ts";
import { type NodeParts, skillOf, toolOf, workflowOf } from "../../../harness/harness.ts";
import { runsOf } from "../../../harness/long.ts";

/** Taint, reported before a run starts. */

/** An input that brings no text. */
const BARE = { inputs: { severity: { type: "string", enum: ["low", "high"] }, count: { type: "number" } } };

function declare(id: string, tools: readonly ToolDescriptor[], parts: Partial<DeclaredSkill> = {}): DeclaredSkill {
  const record = skillOf(id, tools);
  return { open: record, whole: record, unknown: [], ...parts };
}

const write = { effect: "write" as const };
const LOGS = declare("logs", [toolOf("logs", "search", { reads: "private" }), toolOf("logs", "tail")]);
const DEPLOYS = declare("deploys", [toolOf("deploys", "list", { origin: "team" })]);
const TICKETS = declare("tickets", [
  toolOf("tickets", "find", { origin: "team" }),
  toolOf("tickets", "file", write),
  toolOf("tickets", "close", write),
]);
const STATUS = declare("status", [toolOf("status", "post", { ...write, audience: "public" })]);
const RPC = declare("rpc", [toolOf("rpc", "call", { ...write, reads: "private" })]);
const VAULT = declare("vault", [toolOf("vault", "read", { origin: "team", reads: "private" })]);
/** A server that is not contacted. */
const PAGER = declare("pager", [], {
  unknown: [
    toolOf("pager", "reads", { exposed: "pager_*" }),
    toolOf("pager", "writes", { exposed: "pager_*", ...write }),
  ],
});
/** Untrusted code whose files name its tools. */
const HELD = declare("held", [], {
  whole: skillOf("held", [
    toolOf("held", "look", { reads: "private" }),
    toolOf("held", "act", { ...write, audience: "public", reads: "private" }),
  ]),
});
const SCRIPTS = declare("scripts", [], { open: skillOf("scripts", [], { scripts: "write", instruction: "Run it." }) });
const GUIDE = declare("guide", [], { open: skillOf("guide", [], { instruction: "How.", files: ["a.md"] }) });
const WORKSPACE = declare("workspace", [toolOf("workspace", "propose_change", { ...write, audience: "public" })]);
const SKILLS = new Map(
  [WORKSPACE, LOGS, DEPLOYS, TICKETS, STATUS, RPC, VAULT, PAGER, HELD, SCRIPTS, GUIDE].map((skill) => [
    skill.open.id,
    skill,
  ]),
);

type Writes = "allow" | "plan" | "deny";
const taintOf = (workflow: Workflow, writes: Writes = "allow") => findTaint({ workflow, skills: SKILLS, writes });
const told = ({ findings }: Taint) => findings.map(({ code, path, severity }) => `${severity} ${code} ${path[1]}`);
const marked = ({ nodes }: Taint, mark: "tainted" | "private") =>
  [...nodes].flatMap(([id, node]) => (node[mark] ? [id] : []));

/** `a` reads text from outside, `b` follows. */
const pair = (second: NodeParts, first: NodeParts = { skills: ["logs"] }) =>
  workflowOf({ a: first, b: second }, ["a -> b"], BARE);

describe("a state", () => {
  const state = { board: {}, other: {} };
  const found = (nodes: Record<string, NodeParts>, edges: string[] = [], rest: object = {}) =>
    told(taintOf(workflowOf(nodes, edges, { ...BARE, state, ...rest })));

  it("that a tainted node writes is reported", () => {
    expect(found({ a: { skills: ["logs"], state: ["board"] } })).toEqual([
      expect.stringMatching(/^warning taint.state a/),
    ]);
  });

  it("is not reported for a node that only reads it, nor for one without untrusted text", () => {
    expect(found({ a: { skills: ["logs"], state: ["board"], effects: "read" } })).toEqual([]);
    expect(found({ a: { skills: ["logs"], state: ["board"], tools: { deny: ["state_put"] } } })).toEqual([]);
    expect(found({ a: { state: ["board"] } })).toEqual([]);
  });

  it("passes its entries to each node that reads it, in a later run at the latest", () => {
    const nodes = { a: { state: ["board"] }, b: { skills: ["logs"], state: ["board"] }, c: { state: ["other"] } };
    const { nodes: marks } = taintOf(workflowOf(nodes, ["a -> b"], { ...BARE, state }));
    expect([...marks].map(([id, { tainted }]) => [id, tainted])).toEqual([
      ["a", true],
      ["b", true],
      ["c", false],
    ]);
  });
});

describe("text from outside", () => {
  it.each<[string, Workflow, readonly string[]]>([
    ["comes with the run's input, to every node", workflowOf({ a: {}, b: {} }, ["a -> b"]), ["a", "b"]],
    [
      "comes with a declared field of free text",
      workflowOf({ a: {} }, [], { inputs: { ...BARE.inputs, title: { type: "string" } } }),
      ["a"],
    ],
    [
      "does not come with numbers, booleans and fixed choices",
      workflowOf({ a: { skills: ["deploys"] }, b: {} }, ["a -> b"], BARE),
      [],
    ],
    ["comes by a tool that reads what strangers write, and goes on", pair({}), ["a", "b"]],
    ["does not go back", workflowOf({ a: {}, b: { skills: ["logs"] }, c: {} }, ["a -> b", "b -> c"], BARE), ["b", "c"]],
    [
      "goes round a loop",
      workflowOf({ a: {}, b: { skills: ["logs"] }, c: {} }, ["a -> b", "b -> a: again", "a -> c"], BARE),
      ["a", "b", "c"],
    ],
    [
      "goes on over nodes that hold nothing",
      workflowOf({ a: { skills: ["logs"] }, b: {}, c: {} }, ["a -> b", "b -> c"], BARE),
      ["a", "b", "c"],
    ],
    [
      "stays on its own side of a fork",
      workflowOf({ a: {}, b: { skills: ["logs"] }, c: {} }, ["a -> b: x", "a -> c"], BARE),
      ["b"],
    ],
    ["does not come by a tool that only writes", workflowOf({ a: { skills: ["tickets"] } }, [], BARE), []],
    ["comes by a tool that writes and says what it reads", workflowOf({ a: { skills: ["rpc"] } }, [], BARE), ["a"]],
    ["comes by scripts", workflowOf({ a: { skills: ["scripts"] } }, [], BARE), ["a"]],
    ["does not come by the instructions of skills", workflowOf({ a: { skills: ["guide"] } }, [], BARE), []],
    ["comes by a server that is not opened", workflowOf({ a: { skills: ["pager"] } }, [], BARE), ["a"]],
    ["comes by code that is not opened", workflowOf({ a: { skills: ["held"] } }, [], BARE), ["a"]],
    [
      "does not come by a tool that the node denies",
      workflowOf({ a: { skills: ["logs"], tools: { deny: ["logs_search", "tail"] } } }, [], BARE),
      [],
    ],
    [
      "comes by no other tool than those that the node allows",
      workflowOf({ a: { skills: ["logs", "deploys", "pager"], tools: { allow: ["list"] } } }, [], BARE),
      [],
    ],
    [
      "comes by an allowed tool that only an unopened server can have",
      workflowOf({ a: { skills: ["deploys", "pager"], tools: { allow: ["list", "pager_show"] } } }, [], BARE),
      ["a"],
    ],
    ["does not come from an undeclared skill", workflowOf({ a: { skills: ["unheard_of"] } }, [], BARE), []],
  ])("%s", (_what, workflow, nodes) => {
    expect(marked(taintOf(workflow), "tainted")).toEqual(nodes);
  });
});

describe("private data", () => {
  it.each<[string, Workflow, readonly string[]]>([
    ["comes by a tool of a private source, and goes on", pair({}), ["a", "b"]],
    ["does not come with the run's input", workflowOf({ a: {} }), []],
    [
      "comes by the team's own texts, too",
      workflowOf({ a: { skills: ["vault"] }, b: {} }, ["a -> b"], BARE),
      ["a", "b"],
    ],
    ["does not come by an unopened server of which nothing is said", workflowOf({ a: { skills: ["pager"] } }), []],
    [
      "does not come by a tool that the node denies",
      workflowOf({ a: { skills: ["logs"], tools: { deny: ["search"] } } }, [], BARE),
      [],
    ],
  ])("%s", (_what, workflow, nodes) => {
    expect(marked(taintOf(workflow), "private")).toEqual(nodes);
  });
});

describe("the findings", () => {
  it.each<[string, Workflow, readonly string[]]>([
    ["a tainted node that may write", pair({ skills: ["tickets"] }), ["warning taint.write_held b"]],
    [
      "a proposal, which every mode plans",
      pair({ skills: ["workspace"] }, { tools: { allow: ["tail"] }, skills: ["logs"] }),
      [],
    ],
    [
      "a write next to a proposal",
      pair({ skills: ["workspace", "tickets"] }),
      ["warning taint.write_held b", "warning taint.private_to_public b"],
    ],
    ["a node that only reads", pair({ skills: ["tickets"], effects: "read" }), []],
    ["a node whose filter leaves no write", pair({ skills: ["tickets"], tools: { allow: ["find"] } }), []],
    ["a node whose writes are denied by name", pair({ skills: ["tickets"], tools: { deny: ["file", "close"] } }), []],
    ["a write that no text from outside gets to", pair({ skills: ["tickets"] }, { skills: ["deploys"] }), []],
    [
      "a model's choice by a tainted node's free text",
      workflowOf({ a: { skills: ["logs"] }, b: {} }, ["a -> b: it is bad"], BARE),
      ["warning taint.free_text_route a"],
    ],
    [
      "a model's choice by declared fields",
      workflowOf(
        { a: { skills: ["logs"], output: { type: "object", properties: { bad: { type: "boolean" } } } }, b: {} },
        ["a -> b: it is bad"],
        BARE,
      ),
      [],
    ],
    [
      "a choice by an output that declares no field",
      workflowOf({ a: { skills: ["logs"], output: { type: "object" } }, b: {} }, ["a -> b: it is bad"], BARE),
      ["warning taint.free_text_route a"],
    ],
    [
      "a choice by code",
      workflowOf({ a: { skills: ["logs"] }, b: {} }, [{ from: "a", to: "b", if: "a.bad = true" }], BARE),
      [],
    ],
    [
      "a condition that says nothing",
      workflowOf({ a: { skills: ["logs"] }, b: {} }, [{ from: "a", to: "b", when: "  " }], BARE),
      [],
    ],
    [
      "private text next to a public write",
      pair({ skills: ["status"] }, { skills: ["vault"] }),
      ["warning taint.private_to_public b"],
    ],
    ["private text next to a write for the team", pair({ skills: ["tickets"] }, { skills: ["vault"] }), []],
    [
      "both directions at once",
      pair({ skills: ["status"] }),
      ["warning taint.write_held b", "warning taint.private_to_public b"],
    ],
    ["an unopened server", workflowOf({ a: { skills: ["pager"] } }, [], BARE), ["note taint.write_held a"]],
    ["an unopened server where text is given", workflowOf({ a: { skills: ["pager"] } }), ["note taint.write_held a"]],
    ["an unopened server at a node that reads", workflowOf({ a: { skills: ["pager"], effects: "read" } }), []],
    [
      "a known write after an unopened server",
      pair({ skills: ["tickets"] }, { skills: ["pager"], effects: "read" }),
      ["note taint.write_held b"],
    ],
    [
      "a known write next to an unknown server, with text",
      workflowOf({ a: { skills: ["tickets", "pager"] } }),
      ["warning taint.write_held a"],
    ],
    [
      "code that waits",
      workflowOf({ a: { skills: ["held"] } }, [], BARE),
      ["note taint.write_held a", "note taint.private_to_public a"],
    ],
    ["a workflow without nodes that hold anything", workflowOf({ a: {} }), []],
  ])("%s", (_what, workflow, expected) => {
    expect(told(taintOf(workflow))).toEqual(expected);
  });

  it("name the tools, and the sources of the text, the nearest first", () => {
    const { findings } = taintOf(pair({ skills: ["tickets", "status"] }));
    expect(findings.map(({ message }) => message)).toEqual([
      'node "b" can write without review (tickets_file, tickets_close, status_post), and outside text reaches it: by logs_search, logs_tail of node "a"',
      'node "b" can write what the public reads (status_post), and private text reaches it: by logs_search of node "a"',
    ]);
    const [given] = taintOf(workflowOf({ a: { skills: ["tickets"] } })).findings;
    expect(given?.message).toContain("outside text reaches it: the run's input");
  });

  it("report no write that is planned or denied, and only note what is planned for the public", () => {
    const workflow = pair({ skills: ["tickets", "status"] });
    expect(told(taintOf(workflow, "plan"))).toEqual(["note taint.private_to_public b"]);
    expect(told(taintOf(workflow, "deny"))).toEqual([]);
  });

  it("are at their nodes, which list them too", () => {
    const { findings, nodes } = taintOf(pair({ skills: ["status"] }));
    expect(findings.map(({ path }) => path)).toEqual([
      ["nodes", "b"],
      ["nodes", "b"],
    ]);
    expect(nodes.get("b")?.found).toEqual(["taint.write_held", "taint.private_to_public"]);
    expect(nodes.get("a")?.found).toEqual([]);
    expect(taintOf(workflowOf({ a: { skills: ["pager"] } })).nodes.get("a")?.found).toEqual([]);
  });
});

describe("taint never shrinks", () => {
  const IDS = ["a", "b", "c", "d", "e"] as const;
  const node = fc.record({
    skills: fc.uniqueArray(fc.constantFrom(...SKILLS.keys()), { maxLength: 3 }),
    effects: fc.option(fc.constantFrom("read" as const, "write" as const), { nil: undefined }),
    output: fc.option(fc.constant({ type: "object", properties: { x: {} } }), { nil: undefined }),
  });
  const edge = fc.record({
    from: fc.constantFrom(...IDS),
    to: fc.constantFrom(...IDS),
    when: fc.option(fc.constant("so"), { nil: undefined }),
  });
  const flow = fc.record({
    nodes: fc.tuple(node, node, node, node, node),
    edges: fc.array(edge, { maxLength: 8 }),
    isBare: fc.boolean(),
  });
  type Flow = typeof flow extends fc.Arbitrary<infer Value> ? Value : never;
  const workflow = ({ nodes, edges, isBare }: Flow) =>
    workflowOf(
      Object.fromEntries(IDS.map((id, index) => [id, nodes[index] ?? {}])),
      edges.map(({ when, ...ends }) => (when === undefined ? ends : { ...ends, when })),
      isBare ? BARE : {},
    );
  const holds = (more: NodeTaint | undefined, less: NodeTaint) =>
    more !== undefined &&
    (more.tainted || !less.tainted) &&
    (more.private || !less.private) &&
    less.found.every((code) => more.found.includes(code));
  const expectMore = (more: Taint, less: Taint) => {
    for (const [id, taint] of less.nodes) expect(holds(more.nodes.get(id), taint), id).toBe(true);
    const warned = told(more).filter((line) => line.startsWith("warning"));
    for (const line of told(less)) if (line.startsWith("warning")) expect(warned).toContain(line);
  };

  it("with one more edge", () => {
    fc.assert(
      fc.property(flow, edge, (given, added) => {
        expectMore(taintOf(workflow({ ...given, edges: [...given.edges, added] })), taintOf(workflow(given)));
      }),
      { numRuns: runsOf(400) },
    );
  });

  it("with one more skill at a node", () => {
    fc.assert(
      fc.property(flow, fc.nat({ max: 4 }), fc.constantFrom(...SKILLS.keys()), (given, at, skill) => {
        const nodes = given.nodes.map((each, index) =>
          index === at ? { ...each, skills: [...each.skills, skill] } : each,
        ) as Flow["nodes"];
        expectMore(taintOf(workflow({ ...given, nodes })), taintOf(workflow(given)));
      }),
      { numRuns: runsOf(400) },
    );
  });
});
