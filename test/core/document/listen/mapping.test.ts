import { describe, expect, it } from "vitest";
import { checkFields, checkListenFile } from "../../../../src/core/document/listen/check.ts";
import { type ListenSource, listenFileSchema, parseSize } from "../../../../src/core/document/listen/listen-file.ts";
import { mapEvent, type WebhookEvent } from "../../../../src/core/document/listen/mapping.ts";
import type { Workflow } from "../../../../src/core/document/workflow/workflow.ts";

const BODY = { status: "firing", alerts: [{ name: "api", level: 3, tags: ["a", "b"] }], none: null };

const source = (more: Partial<ListenSource> = {}): ListenSource => ({
  kind: "generic",
  secret: "SECRET",
  workflow: "w.yml",
  ...more,
});
const map = (more: Partial<ListenSource>, event: Partial<WebhookEvent> = {}) =>
  mapEvent(source(more), { body: BODY, ...event });

describe("a webhook becomes an input", () => {
  it.each<[string, ListenSource["input"], unknown]>([
    ["a lone path keeps its type", { level: "{{body.alerts[0].level}}" }, { level: 3 }],
    ["a list stays one", { tags: "{{ body.alerts[0].tags }}" }, { tags: ["a", "b"] }],
    ["within a text it is text", { title: "{{body.status}}: {{body.alerts[0].level}}" }, { title: "firing: 3" }],
    ["values nest", { a: { b: ["{{body.status}}"] } }, { a: { b: ["firing"] } }],
    ["what needs no path stands as it is", { a: 1, b: "{{{{x" }, { a: 1, b: "{{x" }],
    ["the whole body", { all: "{{body}}" }, { all: BODY }],
  ])("%s", (_, input, wanted) => {
    expect(map({ ...(input ? { input } : {}) })).toEqual({ kind: "input", input: wanted });
  });

  it("never interprets inserted text again", () => {
    const event = { body: { text: "{{body.secret}}", secret: "s" } };
    expect(map({ input: { a: "{{body.text}}", b: "x {{body.text}}" } }, event)).toMatchObject({
      input: { a: "{{body.secret}}", b: "x {{body.secret}}" },
    });
  });

  it("names the field and the path that does not resolve", () => {
    expect(map({ input: { title: "{{body.title}}" } })).toEqual({
      kind: "problem",
      problem: "input.title: {{body.title}}: body.title is missing",
    });
  });

  it.each(["__proto__", "constructor", "toString"])("resolves only the body's own properties: %s", (key) => {
    expect(map({ input: { a: `{{body.${key}}}` } }).kind).toBe("problem");
  });

  it("treats a body's own __proto__ like any other field", () => {
    const body = JSON.parse('{"__proto__": {"polluted": true}, "x": 1}');
    const mapped = map({ input: { all: "{{body}}" } }, { body });
    expect(JSON.stringify(mapped)).toContain("polluted");
    expect("polluted" in {}).toBe(false);
  });
});

describe("a webhook that does not fit `when`", () => {
  it.each<[ListenSource["when"], string]>([
    ["body.status = firing", "input"],
    ["body.status = resolved", "ignored"],
    [{ output_matches: [{ path: "body.alerts[*].level", at_least: 3 }] }, "input"],
    [{ output_required: ["body.none"] }, "ignored"],
    ["event in [issues, push]", "input"],
  ])("%j: %s", (when, kind) => {
    expect(map(when === undefined ? {} : { when }, { event: "issues" }).kind).toBe(kind);
  });

  it("gives the reason", () => {
    expect(map({ when: "body.status = resolved" })).toEqual({
      kind: "ignored",
      reason: 'body.status is "firing", not "resolved"',
    });
  });
});

describe("a fingerprint", () => {
  it.each<[string, unknown]>([
    ["body.status", "firing"],
    ["body.alerts[*].level", 3],
    ["input.name", "api"],
    ["body.none", undefined],
    ["body.nowhere", undefined],
  ])("%s", (fingerprint, wanted) => {
    expect(map({ fingerprint, input: { name: "{{body.alerts[0].name}}" } })).toMatchObject({ fingerprint: wanted });
  });
});

const WORKFLOW: Pick<Workflow, "inputs"> = {
  inputs: { title: { type: "string", required: true }, level: { type: "number" } },
};

describe("the check of a source", () => {
  it.each<[string, Partial<ListenSource>, readonly string[]]>([
    ["nothing is wrong", { input: { title: "{{body.t}}" } }, []],
    ["a root that is none", { input: { title: "{{bdy.t}}" } }, ["UNKNOWN_PATH_ROOT"]],
    ["a path without a root", { input: { title: "{{alerts[0].t}}" } }, ["UNKNOWN_PATH_ROOT"]],
    ["no path", { input: { title: "{{body..t}}" } }, ["SCHEMA"]],
    ["a condition about something else", { input: { title: "" }, when: "status = firing" }, ["UNKNOWN_PATH_ROOT"]],
    ["a condition that is none", { input: { title: "" }, when: "firing" }, ["SCHEMA"]],
    ["a fingerprint of the input", { input: { title: "" }, fingerprint: "input.title" }, []],
    ["a field that the workflow does not know", { input: { title: "", levle: 1 } }, ["INPUT_UNKNOWN"]],
    ["a field that it needs", {}, ["INPUT_MISSING"]],
    ["a cool-down of nothing", { input: { title: "" }, cool_down: "1h" }, ["SCHEMA"]],
  ])("%s", (_, more, codes) => {
    const one = source(more);
    const found = [
      ...checkListenFile({ sources: { one } }),
      ...checkFields(one, WORKFLOW as Workflow, ["sources", "one"]),
    ];
    expect(found.map(({ code }) => code)).toEqual(codes);
  });

  it("suggests the similar input", () => {
    const [found] = checkFields(source({ input: { title: "", levle: 1 } }), WORKFLOW as Workflow, ["sources", "one"]);
    expect(found).toMatchObject({ hint: 'did you mean "level"?', path: ["sources", "one", "input", "levle"] });
  });
});

describe("the document", () => {
  it.each<[unknown, number | undefined]>([
    ["1MiB", 1_048_576],
    ["10KB", 10_000],
    [512, 512],
    ["much", undefined],
  ])("a size: %j", (size, bytes) => {
    expect(parseSize(size as string)).toBe(bytes);
  });

  it.each(["health", "approve", "a/b", "", ".."])("has no source called %j", (name) => {
    expect(listenFileSchema().safeParse({ sources: { [name]: source() } }).success).toBe(false);
  });

  it("has a source", () => {
    expect(listenFileSchema().safeParse({ sources: {} }).success).toBe(false);
    expect(listenFileSchema().safeParse({ sources: { sentry: source() } }).success).toBe(true);
  });
});
