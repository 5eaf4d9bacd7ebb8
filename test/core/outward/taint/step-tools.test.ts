import { describe, expect, test } from "vitest";
import { checkPaths } from "../../../../src/core/document/check/paths.ts";
import { checkPathsInto, checkWorkflow } from "../../../../src/core/document/check/workflow.ts";
import { checkStepTools, stepShapes } from "../../../../src/core/outward/taint/step-tools.ts";
import type { DeclaredSkill } from "../../../../src/core/outward/taint/tools.ts";
import { type NodeParts, skillOf, toolOf, workflowOf } from "../../../harness/harness.ts";

const input_schema = {
  type: "object",
  properties: { title: { type: "string" }, limit: { type: "integer" }, labels: { type: "array" } },
  required: ["title"],
  additionalProperties: false,
};

const declare = (id: string, tools: DeclaredSkill["open"]["tools"], parts: Partial<DeclaredSkill> = {}) => {
  const record = skillOf(id, tools);
  return [id, { open: record, whole: record, unknown: [], ...parts }] as const;
};
const skills = new Map([
  declare("desk", [
    toolOf("desk", "look", { input_schema }),
    toolOf("desk", "file", { input_schema, effect: "write" }),
  ]),
  declare("logs", [toolOf("logs", "look")]),
  declare("pager", [], { unknown: [toolOf("pager", "reads", { exposed: "pager_*" })] }),
]);

type Steps = NonNullable<NodeParts["steps"]>;
const found = (steps: Steps, node: NodeParts = { skills: ["desk"] }) =>
  checkStepTools(workflowOf({ a: { ...node, steps } }), skills).map(({ severity, code, path, hint }) =>
    [code, path.slice(3).join("."), hint, severity === "note" ? severity : undefined].filter(
      (part) => part !== undefined,
    ),
  );
const title = { title: "t" };

describe("the tool of a step", () => {
  test.each<[string, Steps, NodeParts | undefined, unknown]>([
    ["by the name that a model sees", [{ id: "a", tool: "desk_look", with: title }], undefined, []],
    ["by its own name", [{ id: "a", tool: "file", with: title }], undefined, []],
    [
      "that does not exist, with the nearest",
      [{ id: "a", tool: "desk_lok" }],
      undefined,
      [["UNKNOWN_TOOL", "0.tool", 'did you mean "desk_look"?']],
    ],
    [
      "by a name that two skills have",
      [{ id: "a", tool: "look", with: title }],
      { skills: ["desk", "logs"] },
      [["UNKNOWN_TOOL", "0.tool", "write the whole name"]],
    ],
    [
      "of a skill whose tools are not known",
      [{ id: "a", tool: "pager_page" }],
      { skills: ["desk", "pager"] },
      [["UNKNOWN_TOOL", "0.tool", "note"]],
    ],
    [
      "of a known skill, next to one that is not",
      [{ id: "a", tool: "desk_page" }],
      { skills: ["desk", "pager"] },
      [["UNKNOWN_TOOL", "0.tool", 'did you mean "desk_file"?']],
    ],
    [
      "that writes where the node only reads",
      [{ id: "a", tool: "desk_file", with: title }],
      { skills: ["desk"], effects: "read" },
      [["STEP_EFFECT", "0.tool"]],
    ],
    [
      "among alternatives of another effect",
      [
        {
          id: "a",
          first_of: [
            { tool: "desk_look", with: title },
            { tool: "desk_file", with: title },
          ],
        },
      ],
      undefined,
      [["STEP_EFFECT", "0.first_of"]],
    ],
  ])("%s", (_, steps, node, expected) => {
    expect(found(steps, node)).toEqual(expected);
  });
});

describe("the input of a step", () => {
  test.each<[string, NonNullable<Steps[number]["with"]>, unknown]>([
    ["may have templates", { title: "{{input.title}}", limit: "{{input.limit}}" }, []],
    ["may leave out what is not needed", { title: "t", "limit?": "{{input.limit}}" }, []],
    ["lacks what is needed", { limit: 1 }, [["STEP_INPUT", "0.with"]]],
    [
      "may not leave out what is needed",
      { "title?": "{{input.t}}" },
      [["STEP_INPUT", "0.with.title?", "write `title`"]],
    ],
    ["has an unknown member", { title: "t", limt: 1 }, [["STEP_INPUT", "0.with.limt", 'did you mean "limit"?']]],
    ["has a literal of another type", { title: "t", limit: "ten" }, [["STEP_INPUT", "0.with.limit"]]],
  ])("%s", (_, given, expected) => {
    expect(found([{ id: "a", tool: "desk_look", with: given }])).toEqual(expected);
  });
});

describe("the paths of a step", () => {
  const paths = (steps: Steps) =>
    checkPaths(
      workflowOf({ a: { skills: ["desk"], steps }, b: { output: { type: "object", properties: { x: {} } } } }),
      (root) => (root === "b" ? { type: "object", properties: { x: {} } } : undefined),
    ).map(({ code, path }) => [code, path.slice(3).join(".")]);

  test.each<[string, Steps, unknown]>([
    [
      "may begin with an earlier step, a node, the input or the run",
      [
        { id: "one", tool: "t" },
        { id: "two", tool: "t", if: "steps.one.x exists", with: { a: "{{b.x}}", c: ["{{run.id}} {{input.z}}"] } },
      ],
      [],
    ],
    [
      "may not name a later step",
      [
        { id: "one", tool: "t", with: { a: "{{steps.two.x}}" } },
        { id: "two", tool: "t" },
      ],
      [["UNKNOWN_PATH", "0.with.a"]],
    ],
    [
      "may not name an unknown root",
      [{ id: "one", first_of: [{ tool: "t", with: { a: "{{nope.x}}" } }] }],
      [["UNKNOWN_PATH_ROOT", "0.first_of.0.with.a"]],
    ],
    [
      "may not name a field that a node never has",
      [{ id: "one", tool: "t", if: "b.y exists" }],
      [["UNKNOWN_PATH", "0.if"]],
    ],
    [
      "may not name an unknown field of the run",
      [{ id: "one", tool: "t", with: { a: "{{run.name}}" } }],
      [["UNKNOWN_PATH", "0.with.a"]],
    ],
  ])("%s", (_, steps, expected) => {
    expect(paths(steps)).toEqual(expected);
  });
});

describe("a path into the output of a step", () => {
  const output_schema = {
    type: "object",
    properties: {
      url: { type: "string" },
      hits: { type: "array", items: { properties: { id: { type: "integer" } } } },
    },
    required: ["url"],
  };
  const open = { ...output_schema, additionalProperties: true };
  const tools = new Map([
    declare("desk", [
      toolOf("desk", "look", { output_schema }),
      toolOf("desk", "open", { output_schema: open }),
      toolOf("desk", "plain"),
      toolOf("desk", "either", { output_schema: { ...output_schema, dependentSchemas: { url: {} } } }),
      toolOf("desk", "say", { output_schema: { type: "string" }, effect: "write" }),
      toolOf("desk", "file", { output_schema, effect: "write" }),
    ]),
  ]);
  const find = () => undefined;
  const pathsAfter = (tool: string, path: string) => {
    const steps = [
      { id: "one", tool },
      { id: "two", tool: "plain", with: { a: `{{steps.one.${path}}}` } },
    ];
    const later = { name: "Later", steps: [{ id: "x", tool: "plain", if: `a.one.${path} exists` }] };
    const workflow = workflowOf({ a: { skills: ["desk"], steps }, b: { skills: ["desk"], ...later } });
    return checkPathsInto(workflow, { find, stepShape: stepShapes(tools) }, { find }).map(({ code, path, hint }) =>
      [code, path.join("."), hint].join(" "),
    );
  };

  const both = (hint: string) => [
    `UNKNOWN_PATH nodes.a.steps.1.with.a ${hint}`,
    `UNKNOWN_PATH nodes.b.steps.0.if ${hint}`,
  ];
  test.each<[string, string, string, readonly string[]]>([
    ["that the tool declares", "look", "url", []],
    ["below a list", "look", "hits[0].id", []],
    ["that the tool does not declare", "look", "ulr", both('did you mean "url"?')],
    ["below a list that has no such field", "look", "hits[0].key", both("").slice(0, 1)], // no index in a condition
    ["of a tool that allows other fields", "open", "ulr", []],
    ["of a tool without a declared output", "plain", "ulr", []],
    ["of a tool that declares fields under a condition", "either", "b", []],
    ["that tells of a shortened result", "look", "truncated", []],
    ["of a planned write", "file", "planned", []],
    ["of a planned write that was planned before", "file", "same", []],
    ["of a planned write that returns text", "say", "id", []],
    ["of a planned write that reads no operation", "look", "planned", both("")],
  ])("%s", (_, tool, path, expected) => {
    expect(pathsAfter(tool, path)).toEqual(expected);
  });
});

test("a node may hide a root of templates, with a warning where there are steps", () => {
  const codes = (parts: NodeParts) =>
    checkWorkflow(workflowOf({ run: parts }), new Set(["desk"])).flatMap(({ code }) =>
      code === "RESERVED_NODE_ID" ? code : [],
    );
  expect(codes({ skills: ["desk"], steps: [{ id: "one", tool: "t" }] })).toEqual(["RESERVED_NODE_ID"]);
  expect(codes({ skills: ["desk"] })).toEqual([]);
});
