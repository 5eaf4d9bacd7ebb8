import { describe, expect, test } from "vitest";
import type { ProjectConfig } from "../../../../src/core/document/config.ts";
import {
  changedSettings,
  chooseSettings,
  type RunChoices,
  recordedSettings,
} from "../../../../src/core/engine/settings/settings.ts";
import { SETTINGS, workflowOf } from "../../../harness/harness.ts";

const NOBODY = { env: {}, files: [] };
const NONE: RunChoices = { offline: false, requireSkills: false };
const choose = (choices: Partial<RunChoices>, env = {}, rest = {}, files: ProjectConfig[] = []) =>
  chooseSettings({ ...NONE, model: "script:x", ...choices }, workflowOf({ a: {} }, [], rest), { env, files });

describe("a new run's settings", () => {
  test("have defaults: 200 visits, writes allowed", () => {
    expect(choose({})).toEqual({
      model: "script:x",
      judge_model: "claude-haiku-4-5",
      writes: "allow",
      limits: { max_steps: 200 },
      max_turns: 50,
      tool_timeout_ms: 60_000,
      context_mode: "full",
    });
  });

  test.each<[string, Partial<RunChoices>, Record<string, string>, ProjectConfig[], string]>([
    [
      "the command line",
      { model: "script:flag" },
      { SKILLFLOW_MODEL: "script:env" },
      [{ model: "script:file" }],
      "script:flag",
    ],
    ["the environment", {}, { SKILLFLOW_MODEL: "script:env" }, [{ model: "script:file" }], "script:env"],
    ["the project's file", {}, {}, [{ model: "script:project" }, { model: "script:user" }], "script:project"],
    ["the user's file", {}, {}, [{}, { model: "script:user" }], "script:user"],
    ["a key that is there", {}, { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k" }, [], "anthropic:claude-sonnet-4-5"],
    ["the other key", {}, { OPENAI_API_KEY: "k" }, [], "openai:gpt-5"],
  ])("the model is chosen by %s", (_, choices, env, files, model) => {
    expect(chooseSettings({ ...NONE, ...choices }, workflowOf({ a: {} }), { env, files }).model).toBe(model);
  });

  test("without any model there is no run", () => {
    expect(() => chooseSettings(NONE, workflowOf({ a: {} }), { env: {}, files: [] })).toThrow(
      expect.objectContaining({ code: "config.missing" }),
    );
  });

  test("a name without a provider is refused", () => {
    expect(() => choose({ model: "gpt" })).toThrow(expect.objectContaining({ code: "usage.invalid" }));
  });

  test("every provider that the workflow names needs its key", () => {
    const env = { ANTHROPIC_API_KEY: "k" };
    expect(() => choose({ model: "anthropic:a" }, env, { model: "openai:b" })).toThrow(/OPENAI_API_KEY/);
    expect(() => choose({ model: "anthropic:a" }, env, { model: "some/bare:name" })).not.toThrow();
    expect(() => choose({ model: "script:x" }, {}, { model: "openai:b" })).not.toThrow();
  });

  const strict: ProjectConfig = {
    writes: "deny",
    limits: { max_steps: 3, max_tokens: 30, max_cost_usd: 0.3, timeout: "3s" },
  };
  const lax: ProjectConfig = {
    writes: "allow",
    limits: { max_steps: 9, max_tokens: 90, max_cost_usd: 0.9, timeout: "9s" },
  };
  const strictest = { max_steps: 3, max_tokens: 30, max_cost_usd: 0.3, timeout_ms: 3000 };

  test.each<[string, ProjectConfig[], ProjectConfig]>([
    ["the workflow", [lax, lax], strict],
    ["the project's file", [strict, lax], lax],
    ["the user's file", [lax, strict], lax],
    ["the only one that says anything", [{}, strict], {}],
    [
      "each of them in part",
      [{ writes: "deny" }, { ...lax, limits: { max_cost_usd: 0.3, timeout: 3 } }],
      { limits: { max_steps: 3, max_tokens: 30 } },
    ],
  ])("the strictest value applies for writes and for each limit: %s", (_, files, document) => {
    expect(choose({}, {}, document, files)).toMatchObject({ writes: "deny", limits: strictest });
  });

  test("the strictest value applies for each limit of a day too", () => {
    const document: ProjectConfig = { limits: { per_day: { max_runs: 9, max_cost_usd: 2 } } };
    const limits = { max_runs_per_day: 5, max_cost_usd_per_day: 2 };
    expect(choose({}, {}, document, [{ limits: { per_day: { max_runs: 5 } } }])).toMatchObject({ limits });
  });

  const VARIABLES = {
    SKILLFLOW_WRITES: "allow",
    SKILLFLOW_MAX_COST: "5.5",
    SKILLFLOW_MAX_TOKENS: "5",
    SKILLFLOW_MAX_STEPS: "500",
    SKILLFLOW_TIMEOUT: "5m",
  };
  const freed = { max_cost_usd: 5.5, max_tokens: 5, max_steps: 500, timeout_ms: 300_000 };

  test("a variable overrides all of them, and a flag overrides the variable", () => {
    expect(choose({}, VARIABLES, strict, [strict])).toMatchObject({ writes: "allow", limits: freed });
    const flags = { writes: "deny", maxCost: 1, maxTokens: 2, maxSteps: 3, timeout: 4 };
    expect(choose(flags, VARIABLES, lax, [lax])).toMatchObject({
      writes: "deny",
      limits: { max_cost_usd: 1, max_tokens: 2, max_steps: 3, timeout_ms: 4 },
    });
    const empty = Object.fromEntries(Object.keys(VARIABLES).map((name) => [name, ""]));
    expect(choose({}, empty, strict)).toMatchObject({ writes: "deny", limits: strictest });
  });

  test.each([
    ["SKILLFLOW_WRITES", "yes"],
    ["SKILLFLOW_MAX_COST", "-1"],
    ["SKILLFLOW_MAX_TOKENS", "1.5"],
    ["SKILLFLOW_MAX_STEPS", " "],
    ["SKILLFLOW_TIMEOUT", "soon"],
  ])("%s with the value %j is refused", (name, value) => {
    expect(() => choose({}, { [name]: value })).toThrow(new RegExp(`${name} .*"${value}"`));
  });

  test.each([
    ["anthropic:claude-sonnet-4-5", "claude-haiku-4-5"],
    ["openai:gpt-5", "openai:gpt-5"],
    ["openai-compatible:llama3:8b", "openai-compatible:llama3:8b"],
  ])("with %s the judge is %s by default", (model, judge) => {
    const env = { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://localhost:1/v1" };
    expect(choose({ model }, env).judge_model).toBe(judge);
    expect(changedSettings({ ...NONE, model }, SETTINGS, NOBODY).judge_model).toBe(judge);
  });

  test("timeouts of nodes and tools", () => {
    expect(choose({ nodeTimeout: 5, toolTimeout: 6 })).toMatchObject({ node_timeout_ms: 5, tool_timeout_ms: 6 });
  });
});

describe("a resumed run's settings", () => {
  test("a flag not given keeps the recorded value", () => {
    expect(changedSettings(NONE, SETTINGS, NOBODY)).toEqual({});
  });

  test("a limit given replaces that one limit", () => {
    const recorded = { ...SETTINGS, limits: { max_steps: 3, max_tokens: 9 } };
    expect(changedSettings({ ...NONE, maxSteps: 8 }, recorded, NOBODY)).toEqual({
      limits: { max_steps: 8, max_tokens: 9 },
    });
  });

  test("nothing in a recording loosens the current files and variables, but a flag does", () => {
    const recorded = { ...SETTINGS, writes: "allow" as const, limits: { max_steps: 9, max_cost_usd: 9 } };
    const files: ProjectConfig[] = [{}, { writes: "deny", limits: { max_steps: 5, max_cost_usd: 50 } }];
    const tightened = { writes: "deny", limits: { max_steps: 5, max_cost_usd: 9 } };
    expect(changedSettings(NONE, recorded, { env: {}, files })).toEqual(tightened);
    const env = { SKILLFLOW_WRITES: "deny", SKILLFLOW_MAX_STEPS: "5" };
    expect(changedSettings(NONE, recorded, { env, files: [] })).toEqual(tightened);
    const lax = { SKILLFLOW_WRITES: "allow", SKILLFLOW_MAX_STEPS: "50" };
    expect(changedSettings(NONE, { ...recorded, writes: "deny" }, { env: lax, files })).toEqual({});
    const flags = { ...NONE, writes: "allow", maxSteps: 50 };
    expect(changedSettings(flags, recorded, { env, files })).toEqual({ limits: { max_steps: 50, max_cost_usd: 9 } });
  });

  test("model, writes and timeouts may change", () => {
    const choices = { ...NONE, model: "script:y", writes: "deny", nodeTimeout: 1, toolTimeout: 2 };
    expect(changedSettings(choices, SETTINGS, NOBODY)).toEqual({
      model: "script:y",
      judge_model: "claude-haiku-4-5",
      writes: "deny",
      node_timeout_ms: 1,
      tool_timeout_ms: 2,
    });
  });

  test("the last change applies", () => {
    const change = (settings: object) => ({
      type: "run:resume" as const,
      settings,
      seq: 0,
      time: "",
      epoch: 1,
      key: "",
    });
    expect(
      recordedSettings(SETTINGS, [
        change({ model: "script:b" }),
        change({ writes: "deny" }),
        change({ model: "script:c" }),
      ]),
    ).toEqual({
      ...SETTINGS,
      model: "script:c",
      writes: "deny",
    });
  });
});
