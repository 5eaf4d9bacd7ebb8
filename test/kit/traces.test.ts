import { describeTrace, type TraceSpan } from "skillflow/internal";
import { describe, expect, it } from "vitest";

const span = (id: string, parent: string | undefined, start: number, duration: number, more: Partial<TraceSpan> = {}) =>
  ({ id, parent, service: "shop", name: id, start, duration, failed: false, attributes: {}, ...more }) as TraceSpan;

const TREE = [
  span("c", "b", 120, 50, { service: "db", attributes: { "db.system": "postgresql", other: 1 } }),
  span("a", undefined, 100, 100),
  span("b", "a", 110, 80),
  span("d", "b", 150, 60, { failed: true, message: "gone" }),
];

describe("a summarized trace", () => {
  it("is in the order of its calls, with the self time of each span", () => {
    const { spans, ...whole } = describeTrace(TREE, { most: 10 });
    expect(spans.map(({ span: id, depth, at_ms, own_ms }) => [id, depth, at_ms, own_ms])).toEqual([
      ["a", 0, 0, 20],
      ["b", 1, 10, 10],
      ["c", 2, 20, 50],
      ["d", 2, 50, 60],
    ]);
    expect(whole).toMatchObject({ duration_ms: 110, spans_total: 4, errors: 1, left_out: undefined });
    expect(whole.services).toEqual([
      { service: "shop", spans: 3, errors: 1, own_ms: 90 },
      { service: "db", spans: 1, errors: 0, own_ms: 50 },
    ]);
    expect(spans[2]?.attributes).toEqual({ "db.system": "postgresql" });
    expect(describeTrace(TREE, { most: 10, attributes: ["other"] }).spans[2]?.attributes).toEqual({ other: 1 });
  });

  it("may have very many spans, all of one parent or each below the other", () => {
    const flat = Array.from({ length: 200_000 }, (_, at) => span(`x${at}`, "a", at, 1));
    const deep = Array.from({ length: 200_000 }, (_, at) => span(`x${at}`, `x${at - 1}`, at, 1));
    const all = [span("a", undefined, 0, 1), ...flat];
    expect(describeTrace(all, { most: 3 })).toMatchObject({ spans_total: 200_001, left_out: 199_998 });
    expect(describeTrace(deep, { most: 3 })).toMatchObject({ spans_total: 200_000, duration_ms: 200_000 });
  });

  it("that is too large shows failed spans first, with their callers, and counts the rest", () => {
    const many = Array.from({ length: 50 }, (_, at) => span(`x${at}`, "a", 100, 1));
    const { spans, left_out } = describeTrace([...TREE, ...many], { most: 3 });
    expect([spans.map(({ span: id }) => id), left_out]).toEqual([["a", "b", "d"], 51]);
  });

  it("starts with spans whose parents are missing, and counts cyclic spans as left out", () => {
    const circle = [span("a", "b", 0, 10), span("b", "a", 0, 10), span("c", "lost", 5, 5), span("e", "e", 1, 1)];
    const { spans, left_out } = describeTrace(circle, { most: 10 });
    expect([spans.map(({ span: id }) => id), left_out]).toEqual([["e", "c"], 2]);
    expect(describeTrace([], { most: 10 })).toMatchObject({ spans: [], spans_total: 0, started: undefined });
  });
});
