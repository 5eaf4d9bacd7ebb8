import { describe, expect, test } from "vitest";
import { findTaint } from "../../../../src/core/outward/taint/taint.ts";
import type { DeclaredSkill } from "../../../../src/core/outward/taint/tools.ts";
import type { ToolDescriptor } from "../../../../src/core/skill/skill.ts";
import { type NodeParts, skillOf, toolOf, workflowOf } from "../../../harness/harness.ts";

type Steps = NonNullable<NodeParts["steps"]>;

function declare(id: string, tools: readonly ToolDescriptor[]): DeclaredSkill {
  const record = skillOf(id, tools);
  return { open: record, whole: record, unknown: [] };
}

const LOGS = declare("logs", [toolOf("logs", "find"), toolOf("logs", "commits", { origin: "team" })]);
const CHAT = declare("chat", [
  toolOf("chat", "send", { effect: "write", targets: ["room"] }),
  toolOf("chat", "post", { effect: "write" }),
]);
const SKILLS = new Map([LOGS, CHAT].map((skill) => [skill.open.id, skill]));

const INPUTS = {
  text: { type: "string" as const },
  level: { type: "string" as const, enum: ["low", "high"] },
  count: { type: "number" as const },
};
const OUTPUT = {
  type: "object",
  properties: { title: { type: "string" }, level: { type: "string", enum: ["low"] }, count: { type: "integer" } },
};

/** Returns the findings of a node `file` after a model's node `judge`, which reads text from outside. */
function found(
  steps: Steps,
  { writes = "allow", inputs = INPUTS }: { writes?: "allow" | "plan" | "deny"; inputs?: object } = {},
) {
  const judge: NodeParts = { skills: ["logs"], output: OUTPUT };
  const workflow = workflowOf({ judge, file: { skills: ["logs", "chat"], steps } }, ["judge -> file"], { inputs });
  const { findings } = findTaint({ workflow, skills: SKILLS, writes });
  return findings.map(({ severity, code, path }) => `${severity} ${code} ${path.slice(1).join(".")}`);
}

const send = (given: Record<string, string>, tool = "chat_send"): Steps => [{ id: "tell", tool, with: given }];
const TEXT = "note taint.text_in_write file.steps.0";
const TARGET = "warning taint.target_in_write file.steps.0";

describe("a write step", () => {
  test("that takes an earlier run takes untrusted text, whatever the workflow declares", () => {
    for (const inputs of [{ count: INPUTS.count }, { run: INPUTS.count }]) {
      expect(found(send({ text: "{{input.run.id}}" }), { inputs })).toEqual([TEXT]);
    }
  });

  test.each<[string, Record<string, string>, readonly string[]]>([
    ["that takes text of the input", { text: "See {{input.text}}" }, [TEXT]],
    ["that takes text of a model", { text: "{{judge.title}}" }, [TEXT]],
    ["whose target is text of the input", { room: "{{input.text}}" }, [TARGET]],
    ["whose optional target is text of a model", { "room?": "{{judge.title}}" }, [TARGET]],
    ["that takes both", { room: "#{{judge.title}}", text: "{{input}}" }, [TARGET, TEXT]],
    ["that takes a declared choice", { room: "{{input.level}}", text: "{{judge.level}} {{judge.count}}" }, []],
    ["that takes a number", { room: "{{input.count}}" }, []],
    ["that takes nothing", { room: "ops", text: "Look" }, []],
    ["that takes the run's id and skills", { text: "{{run.id}} {{skills.available}}" }, []],
    ["that takes the finding", { text: "{{finding.slack}}" }, [TEXT]],
  ])("%s", (_, given, expected) => {
    expect(found(send(given))).toEqual(expected);
  });

  test.each([
    ["find", [TEXT.replace("0", "1")]],
    ["commits", []],
  ])("that takes the result of %s", (tool, expected) => {
    const steps: Steps = [
      { id: "read", tool },
      { id: "tell", tool: "send", with: { text: "{{steps.read.title}}" } },
    ];
    expect(found(steps)).toEqual(expected);
  });

  test("has the usual targets if its tool declares none", () => {
    expect(found(send({ channel: "{{input.text}}", room: "{{input.text}}" }, "chat_post"))).toEqual([TARGET, TEXT]);
  });

  test("is a note if a person reviews it, and nothing if it is not made", () => {
    const steps = send({ room: "{{input.text}}", text: "{{input.text}}" });
    expect(found(steps, { writes: "plan" })).toEqual(["note taint.target_in_write file.steps.0"]);
    expect(found(steps, { writes: "deny" })).toEqual([]);
  });
});
