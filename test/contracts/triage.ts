import type { Workflow } from "../../src/core/document/workflow/workflow.ts";
import type { RunRecord, SkillRecord } from "../../src/core/engine/event/record.ts";
import { MAKER_TOOLS, TOOL_MAKER } from "../../src/core/engine/tools/tool-maker.ts";
import type { Script } from "../../src/core/outward/testing/script.ts";
import { exposedName } from "../../src/core/skill/tool-names.ts";

/**
 * A run with everything that can be interrupted: parallel reads, both kinds of writes, a retry, a loop, a route, tools
 * that it defines, and steps without a model.
 */

const workflow: Workflow = {
  id: "triage",
  name: "Triage",
  entry: "gather",
  nodes: {
    gather: {
      name: "Gather",
      instruction: "Gather what is known.",
      skills: ["desk"],
      output: { type: "object", properties: { complete: { type: "boolean" } }, required: ["complete"] },
      eval: [
        { name: "is-complete", kind: "value", rule: { output_matches: [{ path: "complete", equals: true }] } },
        { name: "is-sound", kind: "judge", rubric: "Is it sound?" },
      ],
      retry: { max: 1, instruction: { reflect: "What was missing?" } },
    },
    assess: { name: "Assess", instruction: "Assess it.", skills: ["tool-maker"] },
    report: { name: "Report", instruction: "Report it.", skills: ["desk", "tool-maker"] },
    file: {
      name: "File",
      skills: ["desk"],
      steps: [
        { id: "look", tool: "desk_look" },
        { id: "aside", tool: "desk_peek", with: { at: "once" } },
        { id: "mark", tool: "mark", with: { seen: "{{steps.look.did}}" } },
        { id: "post", tool: "desk_post", on_error: "skip" },
        { id: "peek", tool: "desk_peek" },
      ],
    },
  },
  edges: [
    { from: "gather", to: "assess" },
    { from: "assess", to: "gather", when: "more is needed", max_iterations: 1 },
    { from: "assess", to: "report", when: "enough is known" },
    { from: "report", to: "file" },
  ],
};

const desk: SkillRecord = {
  id: "desk",
  name: "Desk",
  format: "module",
  available: true,
  tools: [
    tool("look", "read", true),
    tool("peek", "read", true),
    tool("mark", "write", true),
    tool("post", "write", false),
  ],
};

const maker: SkillRecord = {
  id: TOOL_MAKER,
  name: "Tool maker",
  format: "module",
  available: true,
  tools: MAKER_TOOLS.map(({ name, description, input_schema, effect, idempotent = false }) => {
    return {
      skill: TOOL_MAKER,
      name,
      exposed: exposedName(TOOL_MAKER, name),
      description,
      input_schema,
      effect,
      idempotent,
    };
  }),
};

function tool(name: string, effect: "read" | "write", idempotent: boolean): SkillRecord["tools"][number] {
  const input_schema = { type: "object" };
  return { skill: "desk", name, exposed: `desk_${name}`, description: name, input_schema, effect, idempotent };
}

export function recordOf(run: string): RunRecord {
  const instructions = Object.entries(workflow.nodes).flatMap(([id, { instruction }]) => {
    if (instruction === undefined) return [];
    const content = String(instruction);
    return [[`nodes.${id}.instruction`, { content, kind: "inline", origin: content, resolver: "inline", hash: "" }]];
  });
  return {
    schema: "skillflow.run/2",
    run,
    kind: "run",
    at: "2026-11-20T14:38:36.000Z",
    workflow,
    input: { alert: "checkout answers 5xx" },
    sources: Object.fromEntries(instructions),
    skills: [desk, maker],
    settings: {
      model: "script:triage",
      judge_model: "judge",
      writes: "allow",
      limits: { max_steps: 50 },
      max_turns: 10,
      tool_timeout_ms: 60_000,
      context_mode: "full",
    },
    warnings: ["one skill was left out"],
  };
}

/** Each call is different. The result of the first one would answer equal ones. */
const read = (...names: string[]) => ({
  node: "gather",
  calls: names.map((tool) => ({ tool, input: { at: place++ } })),
});
let place = 0;
const answer = (complete: boolean) => ({ node: "gather", data: { complete } });

const define = (name: string) => {
  return { tool: "tool-maker_define_tool", input: { name, description: name, code: "return 1;" } };
};

export const SCRIPT: Script = {
  replies: [
    read("desk_look", "desk_peek", "desk_look"),
    read("desk_mark", "desk_post", "desk_peek", "desk_unknown"),
    answer(false),
    { node: "gather", verdict: "yes", reasoning: "sound" },
    { node: "gather", reflection: "look once more" },
    read("desk_post", "desk_post"),
    answer(true),
    { node: "gather", verdict: "yes", reasoning: "sound" },
    { node: "assess", text: "not yet" },
    { node: "assess", choice: "gather", reasoning: "more is needed" },
    read("desk_peek", "desk_mark", "desk_look"),
    answer(true),
    { node: "gather", verdict: "yes", reasoning: "sound" },
    { node: "assess", calls: [define("page"), define("spare")] },
    { node: "assess", text: "now it is clear" },
    { node: "assess", choice: "report", reasoning: "enough" },
    { node: "report", calls: [{ tool: "desk_post", input: {} }] },
    { node: "report", calls: [{ tool: "tool-maker_remove_tool", input: { name: "spare" } }] },
    { node: "report", calls: ["page", "spare"].map((name) => ({ tool: `tool-maker_${name}`, input: {} })) },
    { node: "report", text: "reported" },
  ],
};
