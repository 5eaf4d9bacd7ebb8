import fc from "fast-check";
import { expect, test } from "vitest";
import type { EventBody, RunEvent } from "../../../src/core/engine/event/event.ts";
import { skimEvent } from "../../../src/core/engine/event/skim.ts";
import { membersOf } from "../../../src/stores/file/members.ts";
import { skimRun } from "../../../src/stores/file/run-skim.ts";
import { recordOf } from "../../contracts/triage.ts";
import { ANY_CHARACTER } from "../../harness/any-character.ts";
import { runsOf } from "../../harness/long.ts";

const HOSTILE = '","usage":{"inputTokens":9,"cachedTokens":0,"outputTokens":9,"costUsd":9},"prompt":"0"}';
const text = fc.oneof(
  fc.string({ unit: ANY_CHARACTER, maxLength: 40 }),
  fc.constantFrom(
    "gather",
    'a "quoted" \\ one',
    "ünïcode",
    HOSTILE,
    `x${HOSTILE}\n`,
    "x".repeat(500),
    '"type":"route"',
  ),
);
const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const usage = fc.option(
  fc.record({
    inputTokens: count,
    cachedTokens: count,
    outputTokens: count,
    costUsd: fc.option(fc.double({ min: 0, max: 1e12, noNaN: true }).map(Math.abs)),
  }),
);
const parts = fc.array(fc.record({ type: fc.constant("text" as const), text }), { maxLength: 3 });
const reply = fc.record({ node: text, parts, usage, prompt: text, model: text });
const body: fc.Arbitrary<EventBody> = fc.oneof(
  text.map((node): EventBody => ({ type: "node:enter", node, instruction: "look", iteration: 1 })),
  text.map((message): EventBody => ({ type: "warning", message })),
  reply.map((of): EventBody => ({ type: "model:reply", ...of, purpose: "work", stop: "end" })),
  reply.map(({ usage: told, prompt, ...of }): EventBody => {
    return { type: "model:reply", prompt, usage: told, ...of, purpose: "work", stop: "end" };
  }),
  text.map((reason): EventBody => ({ type: "workflow:end", results: {}, status: "failed", reason })),
  text.map((model): EventBody => ({ type: "run:resume", settings: { model: model || "m" } })),
);
const event: fc.Arbitrary<RunEvent> = fc
  .record({ seq: fc.nat(), epoch: fc.nat(), key: text, at: fc.option(text), more: fc.boolean(), body })
  .map(({ seq, epoch, key, at, more, body: told }) => {
    const time = new Date(seq).toISOString();
    const place = at === null ? {} : { at };
    return { seq, time, epoch, key, ...place, ...(more ? { more: true as const } : {}), ...told };
  });

test("a skimmed run has the same data as its full lines", () => {
  const property = fc.property(fc.array(event), (events) => {
    const lines = [recordOf("a"), ...events].map((line) => `${JSON.stringify(line)}\n`);
    const skimmed = skimRun(Buffer.from(lines.join("")), "a.jsonl", "a");
    expect(skimmed.events).toEqual(events.map(skimEvent));
  });
  fc.assert(property, { numRuns: runsOf(400) });
});

test.each([1, 300, 65_000, 65_536, 200_000])("replies of %i characters each are all counted", (length) => {
  const [first, ...lines] = [recordOf("a"), ...Array.from({ length: 40 }, (_, seq) => replyOf(seq, length))];
  const skimmed = skimRun(Buffer.from([first, ...lines, ""].map(lineOf).join("\n")), "a.jsonl", "a");
  expect(skimmed.events).toEqual(lines.map(skimEvent));
});

/** A reply that contains what looks like the end of one. */
function replyOf(seq: number, length: number): object {
  const input = { text: "x".repeat(length), usage: null, prompt: "0" };
  const usage = { inputTokens: seq, cachedTokens: 0, outputTokens: 1, costUsd: null };
  return { seq, time: "t", epoch: 0, key: "k", type: "model:reply", parts: [{ input }], usage, prompt: "p" };
}

function lineOf(line: object | string): string {
  return typeof line === "string" ? line : JSON.stringify(line);
}

test("unneeded members are skipped, whatever they contain", () => {
  const members = fc.dictionary(fc.oneof(fc.constantFrom("a", "b", "at"), fc.string()), fc.jsonValue(), { minKeys: 1 });
  const property = fc.property(members, (object) => {
    const line = `x${JSON.stringify(object)}\n`;
    const bytes = Buffer.from(line);
    const isWanted = (name: string) => name === "a" || name === "at";
    const wanted = Object.fromEntries(Object.entries(object).filter(([name]) => isWanted(name)));
    expect(membersOf(bytes, 1, bytes.length - 1, isWanted)).toEqual(JSON.parse(JSON.stringify(wanted)));
  });
  fc.assert(property, { numRuns: runsOf(4000) });
});

test.each(['{"a":1', '{"a"1}', "{a:1}", '{"a":x}', '{"a":1]}', "[1]", '{"a":1,}', '{ "a": 1 }', '{"a":"1}', "{", "}"])(
  "no member is read of %s",
  (line) => {
    expect(membersOf(Buffer.from(line), 0, line.length, () => true)).toBeUndefined();
  },
);

test.each([
  ["a record without a workflow", { ...recordOf("a"), workflow: null }],
  ["nodes that are a list", { ...recordOf("a"), workflow: { id: "a", name: "a", nodes: [] } }],
  ["a model that is a number", { ...recordOf("a"), settings: { model: 1 } }],
])("a run with %s is not listed", (_, record) => {
  expect(() => skimRun(Buffer.from(`${JSON.stringify(record)}\n`), "a.jsonl", "a")).toThrow("damaged in line 1");
});

test.each([
  ["null"],
  ["garbage"],
  ['{"type":"warning"}'],
  ['{"seq":0,"time":"x","epoch":0,"key":"k","type":"workflow:end","status":"won"}'],
  ['{"seq":0,"time":"x","epoch":0,"key":"k","type":"model:reply","usage":{"inputTokens":-0.5}}'],
])("a run with the line %s before others is not listed", (line) => {
  const lines = [JSON.stringify(recordOf("a")), line, line, ""];
  expect(() => skimRun(Buffer.from(lines.join("\n")), "a.jsonl", "a")).toThrow("damaged in line 2");
});
