import { describe, expect, test } from "vitest";
import { linkProgram } from "../../../../src/core/engine/decide/link.ts";
import type { Offering } from "../../../../src/core/engine/fold/program.ts";
import { EXECUTOR } from "../../../../src/core/skill/skill.ts";
import { exposedName } from "../../../../src/core/skill/tool-names.ts";
import { type NodeParts, OPS, recordOf, skillOf, toolOf, workflowOf } from "../../../harness/harness.ts";

const alpha = skillOf("alpha", [toolOf("alpha", "find"), toolOf("alpha", "drop", { effect: "write" })]);
const beta = skillOf("beta", [toolOf("beta", "find"), toolOf("beta", "drop", { effect: "write" })]);
const now = (writes: "allow" | "deny" = "allow"): Offering => ({
  settings: { writes, context_mode: "full" },
  made: [],
  holdsBlobs: false,
  changed: [],
});
const link = (node: NodeParts, skills = [OPS, alpha, beta], writes: "allow" | "deny" = "allow") =>
  linkProgram(recordOf(workflowOf({ a: node }), { skills, settings: { writes } }));
const offered = (...args: Parameters<typeof link>) =>
  link(...args)
    .tools("a", now(args[2]))
    .offered.flatMap(({ skill, exposed }) => (skill === EXECUTOR ? [] : exposed));

describe("names", () => {
  test.each([
    ["sentry", "get_issue", "sentry_get_issue"],
    ["sentry", "sentry_get_issue", "sentry_get_issue"],
    ["sentry", "sentryx", "sentry_sentryx"],
    ["my-skill", "get.issue", "my-skill_get_issue"],
    ["a.b", "a_b_c", "a_b_c"],
    ["ops", "läuft gut", "ops_l_uft_gut"],
  ])("%s %s is offered as %s", (skill, tool, name) => {
    expect(exposedName(skill, tool)).toBe(name);
  });
});

describe("the tools of a node", () => {
  test("those of its skills, in its order, and no others", () => {
    expect(offered({ skills: ["beta", "alpha"] })).toEqual(["beta_find", "beta_drop", "alpha_find", "alpha_drop"]);
    expect(offered({})).toEqual([]);
  });

  test("a skill under several references counts once, and another version of it is another", () => {
    const one = (reference: string, version: string) =>
      skillOf(reference, [toolOf("find", "find")], { version, instruction: `Find by ${version}.` });
    const known = [one("find", "1.2.0"), one("find@^1", "1.2.0"), one("find@1.0.0", "1.0.0")];
    const skills = known.map(({ id }) => id);
    expect(offered({ skills }, known)).toEqual(["find", "find_2"]);
    expect(link({ skills }, known).preface("a", now())).toHaveLength(2);
    const plain = [skillOf("a@b", [toolOf("a@b", "x")]), skillOf("a@c", [toolOf("a@c", "x")])];
    expect(offered({ skills: ["a@b", "a@c"] }, plain)).toEqual(["a_b_x", "a_c_x"]);
  });

  test("a skill listed twice counts once", () => {
    expect(offered({ skills: ["alpha", "alpha"] })).toEqual(["alpha_find", "alpha_drop"]);
  });

  test("an unavailable skill and an unknown one offer nothing", () => {
    expect(offered({ skills: ["alpha", "nope"] }, [{ ...alpha, available: false }])).toEqual([]);
  });

  test.each<[string, NodeParts["tools"], string[]]>([
    ["allow keeps only what it names", { allow: ["ops_look", "ops_act"] }, ["ops_look", "ops_act"]],
    ["allow takes a bare name", { allow: ["look"] }, ["ops_look"]],
    ["deny removes", { deny: ["ops_look", "peek", "strict", "put"] }, ["ops_act"]],
    ["deny comes after allow", { allow: ["look", "peek"], deny: ["look"] }, ["ops_peek"]],
    ["nothing may be left", { allow: ["nope"] }, []],
    ["deny of everything leaves nothing", { deny: ["look", "peek", "act", "put", "strict"] }, []],
  ])("%s", (_, tools, names) => {
    expect(offered({ skills: ["ops"], ...(tools ? { tools } : {}) })).toEqual(names);
  });

  test("effects: read hides writes", () => {
    expect(offered({ skills: ["ops"], effects: "read" })).toEqual(["ops_look", "ops_peek", "ops_strict"]);
    expect(offered({ skills: ["ops"], effects: "read", tools: { allow: ["act", "look"] } })).toEqual(["ops_look"]);
    expect(offered({ skills: ["ops"], effects: "write", tools: { allow: ["act"] } })).toEqual(["ops_act"]);
  });

  test("writes: deny registers writes nowhere", () => {
    expect(offered({ skills: ["ops"] }, [OPS], "deny")).toEqual(["ops_look", "ops_peek", "ops_strict"]);
  });

  test("disallowed_tools does not affect skill tools", () => {
    expect(offered({ skills: ["alpha"], disallowed_tools: ["alpha_find", "find", "Bash"] })).toEqual([
      "alpha_find",
      "alpha_drop",
    ]);
  });
});

describe("the text of a skill names its tools as the model sees them", () => {
  const text = "First `{{find}}`, then {{ drop }}; never {{nope}}, ${{find}} or {{{find}}}.";
  const telling = [
    { ...alpha, instruction: text },
    { ...beta, instruction: text },
  ];
  const told = (node: NodeParts, skills: (typeof alpha)[] = telling) =>
    link(node, skills)
      .preface("a", now())
      .map((section) => section.text);

  test("each skill its own, and other names lose their braces", () => {
    expect(told({ skills: ["beta", "alpha"] })).toEqual([
      "## Skill: beta\n\nFirst `beta_find`, then beta_drop; never nope, ${{find}} or {{{find}}}.",
      "## Skill: alpha\n\nFirst `alpha_find`, then alpha_drop; never nope, ${{find}} or {{{find}}}.",
    ]);
  });

  test("a skill without tools keeps its braces", () => {
    const plain = skillOf("plain", [], { instruction: "Write {{name}} in a template." });
    expect(told({ skills: ["plain"] }, [plain])[0]).toContain("{{name}}");
  });

  test.each<[string, NodeParts, string, string]>([
    [
      "sentences",
      { effects: "read" },
      "Call `{{find}}` first. Call `{{drop}}` once. Then stop.",
      "Call `alpha_find` first. Then stop.",
    ],
    [
      "questions with their answers",
      { effects: "read" },
      "Call {{find}}. Is it\n  old? Call {{drop}}.",
      "Call alpha_find.",
    ],
    ["list items", { effects: "read" }, "- Old? {{drop}}. It\n  is quick.\n- New? {{find}}.", "- New? alpha_find."],
    [
      "sentences of list items",
      { effects: "read" },
      "1. Use {{drop}}. Use {{find}}.\n2. Stop.",
      "1. Use alpha_find.\n2. Stop.",
    ],
    ["paragraphs", { effects: "read" }, "Read.\n\nWriting: {{drop}}. Write once.\n\nEnd.", "Read.\n\nEnd."],
    ["by allow and deny", { tools: { allow: ["find"] } }, "Use {{find}}. Use {{drop}}.", "Use alpha_find."],
    [
      "but not a sentence that names an offered tool, too",
      { effects: "read" },
      "{{find}} before {{drop}}.",
      "alpha_find before alpha_drop.",
    ],
  ])("without %s that concern only tools that the node does not offer", (_, parts, instruction, expected) => {
    expect(told({ skills: ["alpha"], ...parts }, [{ ...alpha, instruction }])).toEqual([
      `## Skill: alpha\n\n${expected}`,
    ]);
  });

  test("is left out if no part of it concerns an offered tool", () => {
    expect(told({ skills: ["alpha"], effects: "read" }, [{ ...alpha, instruction: "Use {{drop}}." }])).toEqual([]);
  });

  test("takes linear time", () => {
    const instruction = `{{find}} {{drop}}${". \n".repeat(50_000)}${" ".repeat(50_000)}{{drop}}`;
    expect(told({ skills: ["alpha"], effects: "read" }, [{ ...alpha, instruction }])).toHaveLength(1);
  });

  test("and numbered tools by their numbered names", () => {
    const first = skillOf("a-b", [toolOf("a-b", "a.b_t", { exposed: "a_b_t" })], { instruction: "{{a.b_t}}" });
    const second = skillOf("a.b", [toolOf("a.b", "t")], { instruction: "{{t}}" });
    expect(told({ skills: ["a-b", "a.b"] }, [first, second])).toEqual([
      "## Skill: a-b\n\na_b_t",
      "## Skill: a.b\n\na_b_t_2",
    ]);
  });

  test("but the instruction of a node is not interpreted", () => {
    expect(link({ skills: ["alpha"], instruction: "Use {{find}}." }, telling).source("a", "instruction")).toBe(
      "Use {{find}}.",
    );
  });
});

describe("warnings", () => {
  test.each<[string, NodeParts, string[]]>([
    [
      "an entry that matches nothing warns",
      { skills: ["ops"], tools: { deny: ["nope"] } },
      ["node a: no tool is named nope"],
    ],
    ["in allow too", { skills: ["ops"], tools: { allow: ["look", "nope"] } }, ["node a: no tool is named nope"]],
    [
      "an entry in both lists warns once",
      { skills: ["ops"], tools: { allow: ["nope"], deny: ["nope"] } },
      ["node a: no tool is named nope"],
    ],
    [
      "a bare name of two skills warns",
      { skills: ["beta", "alpha"], tools: { allow: ["find"] } },
      ["node a: find means beta_find, not alpha_find"],
    ],
    ["matching entries say nothing", { skills: ["ops"], tools: { allow: ["look"] } }, []],
    ["no skills, no warnings", { tools: { allow: ["look"] } }, []],
  ])("%s", (_, node, warnings) => {
    expect(link(node).warnings).toEqual(warnings);
  });

  test.each([
    ["can only plan writes", { plannable: true as const }],
    ["lacks the config of some tools", { reason: "BOARD_TOKEN is not set" }],
  ])("a tool of a skill that %s causes no warning", (_, part) => {
    expect(link({ skills: ["ops"], tools: { allow: ["look", "ops_more"] } }, [{ ...OPS, ...part }]).warnings).toEqual(
      [],
    );
  });

  test("if two skills offer the same name, the second's tool is numbered, with a warning", () => {
    const first = skillOf("a-b", [toolOf("a-b", "a.b_t", { exposed: "a_b_t" })]);
    const second = skillOf("a.b", [toolOf("a.b", "t")]);
    const program = link({ skills: ["a-b", "a.b"] }, [first, second]);
    expect(program.tools("a", now()).offered.map(({ skill, exposed }) => [skill, exposed])).toEqual([
      ["a-b", "a_b_t"],
      ["a.b", "a_b_t_2"],
      [EXECUTOR, "read_result"],
    ]);
    expect(program.warnings).toEqual([
      "node a: the tool a_b_t of a.b is offered as a_b_t_2: another skill has one with that name",
    ]);
    const denied = link({ skills: ["a-b", "a.b"], tools: { deny: ["a_b_t"] } }, [first, second]);
    expect(denied.tools("a", now()).offered.map(({ exposed }) => exposed)).toEqual(["read_result"]);
  });
});

describe("a bare name that two skills share", () => {
  test("refers to the first skill listed", () => {
    expect(offered({ skills: ["alpha", "beta"], tools: { allow: ["find"] } })).toEqual(["alpha_find"]);
    expect(offered({ skills: ["beta", "alpha"], tools: { allow: ["find"] } })).toEqual(["beta_find"]);
    const { same } = link({ skills: ["beta", "alpha"] }).tools("a", now());
    expect(same("find", "beta_find")).toBe(true);
    expect(same("find", "alpha_find")).toBe(false);
    expect(same("alpha_find", "alpha_find")).toBe(true);
  });

  test("hides both tools if it is denied", () => {
    expect(offered({ skills: ["alpha", "beta"], tools: { deny: ["drop"] } })).toEqual(["alpha_find", "beta_find"]);
  });

  test("evaluators match filtered tools too", () => {
    const { same } = link({ skills: ["ops"], tools: { deny: ["act"] } }).tools("a", now());
    expect(same("act", "ops_act")).toBe(true);
    expect(same("act", "ops_look")).toBe(false);
  });
});
