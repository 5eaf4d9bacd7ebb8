import {
  callDigest,
  clip,
  jsonSize,
  markerOf,
  patiently,
  plainMarkerOf,
  resultSchema,
  retryAfter,
  trim,
  withoutMarkers,
} from "skillflow/internal";
import { describe, expect, it } from "vitest";

const { signal } = new AbortController();

/** A request that fails `times` times, then succeeds, with a counter. */
function failing(times: number) {
  const request = { made: 0, run: async () => (request.made++ < times ? Promise.reject(new Error("no")) : "yes") };
  return request;
}

describe("retries", () => {
  it.each([
    ["succeeds at the third attempt", 2, 0, 3, "yes"],
    ["gives up after the third attempt", 3, 0, 3, "no"],
    ["does not repeat what must not be repeated", 1, undefined, 1, "no"],
    ["leaves a long wait to the caller", 1, 30_001, 1, "no"],
  ])("%s", async (_what, times, pause, made, outcome) => {
    const request = failing(times);
    const result = patiently({ signal, pauseAfter: () => pause }, request.run);
    expect(await result.catch((error: Error) => error.message)).toBe(outcome);
    expect(request.made).toBe(made);
  });

  it("stops waiting when it is aborted", async () => {
    const controller = new AbortController();
    const pauseAfter = () => {
      setImmediate(() => controller.abort());
      return 25_000;
    };
    const result = patiently({ signal: controller.signal, pauseAfter }, failing(1).run);
    await expect(result).rejects.toThrow(/aborted/);
  });

  it.each([
    ["120", 120_000],
    ["1.5", 1500],
    ["Thu, 01 Jan 1970 00:00:00 GMT", 0],
    ["soon", undefined],
    [null, undefined],
    [undefined, undefined],
  ])("reads the header %o as %o milliseconds", (header, expected) => {
    expect(retryAfter(header)).toBe(expected);
  });
});

describe("a trimmed result", () => {
  it("leaves small values unchanged, without absent members", () => {
    expect(trim({ a: [1, "é", true], b: undefined, c: null, d: 2n ** 63n })).toEqual({
      a: [1, "é", true],
      d: "9223372036854775808",
    });
  });

  it("stays under 20 KB for all texts and lists, and names what is missing", () => {
    const long = trim({ title: "t", body: 'é"\n'.repeat(30_000) });
    expect(jsonSize(long)).toBeLessThan(20_000);
    expect(JSON.stringify(long)).toMatch(/more characters\]/);
    const many = trim({ items: Array.from({ length: 5000 }, (_, id) => ({ id, name: "n".repeat(500) })) });
    expect(jsonSize(many)).toBeLessThan(20_000);
    expect(many).toMatchObject({ truncated: expect.stringMatching(/items left out/) });
  });

  it("stays an object with its lists, and names what was too large even when cut", () => {
    const parts = Object.fromEntries(Array.from({ length: 90 }, (_, index) => [`p${index}`, "x".repeat(500)]));
    const result = trim({ id: 7, parts, lines: ["a", "b"] });
    expect(result).toEqual({ id: 7, lines: [], truncated: "left out as too large: parts" });
  });

  it("is not cut inside a character", () => {
    expect(clip("a😀b", 2)).toBe("a… [3 more characters]");
  });
});

it("a result's schema describes its members, and which of them are required", () => {
  expect(resultSchema("items", "items:[{ id:number of:any }] more whole:flag")).toEqual({
    type: "object",
    properties: {
      items: { type: "array", items: { type: "object", properties: { id: { type: "number" }, of: {} } } },
      more: { type: "string" },
      whole: { type: "boolean" },
    },
    required: ["items"],
  });
  expect(resultSchema("", "")).toEqual({ type: "object", properties: {} });
  expect(() => resultSchema("", "total:count")).toThrow('"count" is not a type');
  for (const wrong of ["of:{ id", "of:[text", "of:[text }", "of:[id text]", "of }", "of ]", "{ id }", "of:"])
    expect(() => resultSchema("", wrong), wrong).toThrow(/is not a (member|type)|has one type/);
});

describe("the name of a call", () => {
  const OPERATION = "c".repeat(64);
  it.each([
    ["its input too, as calls of other runs may have its id", "run-1/3:file/0", false],
    ["its id alone where it is an operation of a plan, whose words may differ", OPERATION, true],
    ["its id alone if an operation is written again", `${OPERATION}~run-1`, true],
  ])("is %s", (_, callId, isAlike) => {
    expect(callDigest({ callId }, { a: 1 }) === callDigest({ callId }, { a: 2 })).toBe(isAlike);
    expect(markerOf({ callId }, { a: 1 }) === markerOf({ callId }, { a: 2 })).toBe(isAlike);
    expect(callDigest({ callId }, { a: 1 })).toHaveLength(24);
    expect(markerOf({ callId }, {})).toMatch(/^<!-- skillflow:[\w%.~]+:[0-9a-f]{12} -->$/);
  });

  it.each([markerOf, plainMarkerOf])("is removed from a text, hidden or shown", (mark) => {
    const marker = mark({ callId: "run-1/3:file/0" }, { a: 1 });
    expect(withoutMarkers(`Rolled back.\n\n${marker}`)).toBe("Rolled back.");
    expect(withoutMarkers("a (skillflow call) of <!-- skillflow -->")).toBe("a (skillflow call) of <!-- skillflow -->");
  });

  it("differs for an operation that is written again", () => {
    expect(markerOf({ callId: OPERATION }, {})).not.toBe(markerOf({ callId: `${OPERATION}~run-1` }, {}));
  });
});
