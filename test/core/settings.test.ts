import { describe, expect, test } from "vitest";
import type { ProjectConfig } from "../../src/core/config.ts";
import { changedSettings, chooseSettings, type RunChoices, recordedSettings } from "../../src/core/settings.ts";
import { SETTINGS, workflowOf } from "../harness.ts";

const NONE: RunChoices = { offline: false, requireSkills: false };
const choose = (choices: Partial<RunChoices>, env = {}, rest = {}, files: ProjectConfig[] = []) =>
  chooseSettings({ ...NONE, model: "script:x", ...choices }, env, workflowOf({ a: {} }, [], rest), files);

describe("a new run's settings", () => {
  test("have defaults: 200 visits (D45), writes allowed (O4)", () => {
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
    expect(chooseSettings({ ...NONE, ...choices }, env, workflowOf({ a: {} }), files).model).toBe(model);
  });

  test("without any model there is no run", () => {
    expect(() => chooseSettings(NONE, {}, workflowOf({ a: {} }), [])).toThrow(
      expect.objectContaining({ code: "config.missing" }),
    );
  });

  test("a name without a provider is refused", () => {
    expect(() => choose({ model: "gpt" })).toThrow(expect.objectContaining({ code: "usage.invalid" }));
  });

  test("every provider that the workflow names has its key", () => {
    const env = { ANTHROPIC_API_KEY: "k" };
    expect(() => choose({ model: "anthropic:a" }, env, { model: "openai:b" })).toThrow(/OPENAI_API_KEY/);
    expect(() => choose({ model: "anthropic:a" }, env, { model: "some/bare:name" })).not.toThrow();
    expect(() => choose({ model: "script:x" }, {}, { model: "openai:b" })).not.toThrow();
  });

  test("limits: what is given at invocation replaces the workflow's, that the files'", () => {
    const files: ProjectConfig[] = [
      { limits: { max_steps: 5, max_tokens: 50 } },
      { limits: { max_steps: 6, max_cost_usd: 6, timeout: 60 } },
    ];
    const rest = { limits: { max_steps: 4, timeout: "10m" } };
    expect(choose({}, {}, rest, files).limits).toEqual({
      max_steps: 4,
      max_tokens: 50,
      max_cost_usd: 6,
      timeout_ms: 600_000,
    });
    expect(choose({ maxSteps: 3, maxCostUsd: 1, maxTokens: 2, timeoutMs: 9 }, {}, rest, files).limits).toEqual({
      max_steps: 3,
      max_cost_usd: 1,
      max_tokens: 2,
      timeout_ms: 9,
    });
  });

  test.each<[string, string | undefined, object, ProjectConfig[], string]>([
    ["the command line", "allow", { writes: "deny" }, [{ writes: "deny" }], "allow"],
    ["the workflow", undefined, { writes: "deny" }, [{ writes: "allow" }], "deny"],
    ["the files", undefined, {}, [{}, { writes: "deny" }], "deny"],
  ])("writes are decided by %s", (_, writes, rest, files, expected) => {
    expect(choose({ writes }, {}, rest, files).writes).toBe(expected);
  });

  test.each([
    ["anthropic:claude-sonnet-4-5", "claude-haiku-4-5"],
    ["openai:gpt-5", "openai:gpt-5"],
    ["openai-compatible:llama3:8b", "openai-compatible:llama3:8b"],
  ])("with %s the judge is %s unless somebody names one (D61)", (model, judge) => {
    const env = { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://localhost:1/v1" };
    expect(choose({ model }, env).judge_model).toBe(judge);
    expect(changedSettings({ ...NONE, model }, SETTINGS).judge_model).toBe(judge);
  });

  test("timeouts of nodes and tools", () => {
    expect(choose({ nodeTimeoutMs: 5, toolTimeoutMs: 6 })).toMatchObject({ node_timeout_ms: 5, tool_timeout_ms: 6 });
  });
});

describe("a resumed run's settings", () => {
  test("a flag not given keeps the recorded value", () => {
    expect(changedSettings(NONE, SETTINGS)).toEqual({});
  });

  test("a limit given replaces that one limit", () => {
    const recorded = { ...SETTINGS, limits: { max_steps: 3, max_tokens: 9 } };
    expect(changedSettings({ ...NONE, maxSteps: 8 }, recorded)).toEqual({
      limits: { max_steps: 8, max_tokens: 9 },
    });
  });

  test("model, writes and timeouts may change", () => {
    const choices = { ...NONE, model: "script:y", writes: "deny", nodeTimeoutMs: 1, toolTimeoutMs: 2 };
    expect(changedSettings(choices, SETTINGS)).toEqual({
      model: "script:y",
      judge_model: "claude-haiku-4-5",
      writes: "deny",
      node_timeout_ms: 1,
      tool_timeout_ms: 2,
    });
  });

  test("the last change counts", () => {
    const change = (settings: object) => ({ type: "run:resume" as const, settings, seq: 0, at: "", epoch: 1, key: "" });
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
