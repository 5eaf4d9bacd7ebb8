import { describe, expect, test } from "vitest";
import { calls, MAKER, OPS, play, recordOf, resultAt, workflowOf } from "../../../harness/harness.ts";

const record = recordOf(workflowOf({ a: { skills: ["ops", "tool-maker"] } }), { skills: [OPS, MAKER] });
const DEFINITION = { name: "fetch_weather", description: "Fetches", parameters: "{}", code: "return 1;" };

/** Defines a tool. Returns the reason for a refusal, or the tool. */
function define(parts: object) {
  const played = play(record, { answers: [calls(["tool-maker_define_tool", { ...DEFINITION, ...parts }])] });
  return { error: resultAt(played, "a").toolCalls[0]?.error, made: played.state.run.made[0], called: played.called };
}
const removalError = (name: string) => {
  const played = play(record, { answers: [calls(["tool-maker_remove_tool", { name }])] });
  return resultAt(played, "a").toolCalls[0]?.error;
};

describe("a definition", () => {
  test.each(["a", "fetch_weather", "a1", "a__b", "trailing_", "x".repeat(64)])("may be named %s", (name) => {
    expect(define({ name })).toMatchObject({ error: undefined, made: { tool: { name } } });
  });

  test.each(["", "A", "1a", "_a", "a-b", "a.b", "a b", "naïve", "../x", "x".repeat(65)])(
    "may not be named %j",
    (name) => {
      expect(define({ name })).toMatchObject({
        error: expect.stringContaining("is not a valid tool name"),
        called: [],
      });
    },
  );

  test.each(["look", "ops_look", "define_tool", "remove_tool", "read_skill", "read_blob", "search_blob"])(
    "may not have the name %s, which exists already",
    (name) => {
      expect(define({ name })).toMatchObject({ error: expect.stringContaining("existing tool"), called: [] });
    },
  );

  test("gets a distinct name if two long names have the same beginning", () => {
    const long = "x".repeat(60);
    const answers = ["a", "b"].map((end) =>
      calls(["tool-maker_define_tool", { ...DEFINITION, name: `${long}${end}` }]),
    );
    const { toolCalls } = resultAt(play(record, { answers }), "a");
    expect(toolCalls.map(({ error }) => error !== undefined)).toEqual([false, false]);
  });

  test.each([
    ["a__b", "true"],
    ["trailing_", true],
  ])("that is saved may not be named %s: its skill would have no valid id", (name, persistent) => {
    expect(define({ name, persistent }).error).toContain("cannot be stored");
    expect(define({ name, persistent: "false" }).error).toBeUndefined();
  });

  test.each<[unknown, boolean]>([
    ["true", true],
    [true, true],
    ["false", false],
    ["TRUE", false],
    ["yes", false],
    [1, false],
    [null, false],
    [undefined, false],
  ])("with persistent %j is saved: %s", (persistent, kept) => {
    expect(define(persistent === undefined ? {} : { persistent }).made?.persistent).toBe(kept);
  });

  test.each<[string, object, string]>([
    ["parameters that are no JSON", { parameters: "{city}" }, "the parameters are not valid JSON"],
    ["a list of parameters", { parameters: "[]" }, "must be a map of parameters"],
    ["text as parameters", { parameters: '"x"' }, "must be a map of parameters"],
    ["a JSON Schema", { parameters: '{"type":"object","properties":{}}' }, "are a JSON Schema"],
    ["a parameter without a type", { parameters: '{"a":{}}' }, "must have a type: string"],
    ["a type that is none", { parameters: '{"a":{"type":"integer"}}' }, 'the type "integer"'],
    [
      "a pattern that is none",
      { parameters: '{"a":{"type":"string","pattern":"("}}' },
      "keys that are not JSON Schema and are ignored: pattern",
    ],
    ["parameters that are not text", { parameters: {} }, "invalid input: parameters must be string"],
    ["no description", { description: " " }, "the description is empty"],
    ["no code", { code: "" }, "the code is empty"],
    ["a number as name", { name: 7 }, "invalid input: name must be string"],
  ])("with %s is refused, and reaches no handler", (_, parts, message) => {
    const { error, called, made } = define(parts);
    expect(error).toContain(message);
    expect([called, made]).toEqual([[], undefined]);
  });

  test("needs no parameters", () => {
    expect(define({ parameters: "" }).made?.tool.input_schema).toEqual({ type: "object", properties: {} });
  });
});

describe("a removal", () => {
  test.each(["look", "ops_look", "define_tool", "remove_tool", "read_skill", "read_blob"])(
    "of %s is refused: no run defined it",
    (name) => {
      expect(removalError(name)).toBe(`${name} was not defined with define_tool, so it cannot be removed`);
    },
  );

  test.each(["../../other/skills/kept", "a/b", "..", "", "Kept"])("of %j is refused: it is not a name", (name) => {
    expect(removalError(name)).toContain("is not a valid tool name");
  });

  test("accepts the name that define_tool returned, too", () => {
    const removal = calls(["tool-maker_remove_tool", { name: "tool-maker_fetch_weather" }]);
    const played = play(record, { answers: [calls(["tool-maker_define_tool", DEFINITION]), removal] });
    expect(resultAt(played, "a").toolCalls.map(({ error }) => error)).toEqual([undefined, undefined]);
    expect(played.state.run.made).toEqual([]);
    expect(removalError("tool-maker_look")).toContain("was not defined with define_tool");
  });

  test("of an unknown name is left to the store of saved tools", () => {
    expect(removalError("kept_before")).toBeUndefined();
  });
});
