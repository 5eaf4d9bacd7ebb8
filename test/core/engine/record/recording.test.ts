import { describe, expect, test } from "vitest";
import { next } from "../../../../src/core/engine/decide/interpreter.ts";
import { linkProgram } from "../../../../src/core/engine/decide/link.ts";
import type { RunEvent } from "../../../../src/core/engine/event/event.ts";
import type { RunRecord } from "../../../../src/core/engine/event/record.ts";
import { fold } from "../../../../src/core/engine/fold/fold.ts";
import { begin } from "../../../../src/core/engine/fold/state.ts";
import { faultOfRecording } from "../../../../src/core/engine/record/recording.ts";
import { describeResult } from "../../../../src/core/engine/result/result.ts";
import { reportHtml } from "../../../../src/reports/html/report.ts";
import { summaryMarkdown } from "../../../../src/reports/markdown.ts";
import { calls, gives, OPS, play, recordOf, workflowOf } from "../../../harness/harness.ts";

const output = { type: "object", properties: { x: { type: "number" } } };
const record = recordOf(
  workflowOf(
    { a: { skills: ["ops"], output, eval: [{ name: "e", kind: "judge", rubric: "r" }], retry: { max: 1 } }, b: {} },
    [
      { from: "a", to: "b", when: "it is", max_iterations: 1 },
      { from: "b", to: "a", max_iterations: 1 },
    ],
  ),
  { skills: [OPS], input: { alert: "cpu" } },
);
const no = { parts: [{ type: "text" as const, text: "VERDICT: no" }] };
const yes = { parts: [{ type: "text" as const, text: "VERDICT: yes" }] };
const answers = [calls("ops_look", "ops_act"), gives({ x: 1 }), no, gives({ x: 2 }), yes, gives({ choice: "b" }), "b"];
const { events } = play(record, { answers: [...answers, gives({ x: 3 }), yes], tick: 10 });

/** Any JSON value, to be changed in place. */
type Open = { [key: string]: unknown };
type Change = (lines: [record: Open, ...events: Open[]]) => void;

function changed(change: Change): [RunRecord, RunEvent[]] {
  const lines = structuredClone([record, ...events]) as unknown as [Open, ...Open[]];
  change(lines);
  const [first, ...rest] = lines as unknown as [RunRecord, ...RunEvent[]];
  return [first, rest];
}

const at = (lines: readonly Open[], type: string) => lines.find((line) => line.type === type) ?? {};

describe("a recording", () => {
  test("as recorded is valid", () => {
    expect(faultOfRecording(record, events)).toBeUndefined();
  });

  test.each<[string, Change, RegExp]>([
    ["a record of no workflow", ([first]) => delete first.workflow, /^1: workflow/],
    ["a name that would be a command where it is copied", ([first]) => (first.run = "x; curl e | sh #"), /^1: run/],
    ["a record of another time", ([first]) => (first.at = "later"), /^1: at is not a time/],
    [
      "a workflow without its entry",
      ([first]) => ((first.workflow as Open).entry = "z"),
      /^1: entry "z" is not a node/,
    ],
    [
      "a workflow whose output is not a schema",
      ([first]) => (((first.workflow as { nodes: { a: Open } }).nodes.a.output as Open).type = []),
      /^1: .*not a JSON Schema/,
    ],
    ["an unknown event", (lines) => (at(lines, "node:enter").type = "node:left"), /^4: type/],
    ["an event that lacks a field", (lines) => delete at(lines, "node:enter").instruction, /^4: instruction/],
    ["an event of a node that is not there", (lines) => (at(lines, "node:enter").node = "z"), /^4: there is no node z/],
    ["an event that was taken out", (lines) => lines.splice(3, 1), /^4: seq is 3, not 2/],
    ["an event that was repeated", (lines) => lines.splice(3, 0, lines[3] ?? {}), /^5: seq is 2, not 3/],
    ["an event of an earlier process", (lines) => (at(lines, "workflow:start").epoch = 1), /^3: epoch decreases to 0/],
    ["an event of no time", (lines) => (at(lines, "model:reply").time = "soon"), /^5: time is not a date/],
    ["a route over another edge", (lines) => (at(lines, "route").edge = 1), /edge 1 connects other nodes/],
    ["a route over no edge", (lines) => (at(lines, "route").edge = 9), /edge 9 connects other nodes/],
    [
      "a failure without its error",
      (lines) => (at(lines, "workflow:end").status = "failed"),
      /failed must have an error/,
    ],
    [
      "a success with an error",
      (lines) => (at(lines, "workflow:end").error = { code: "node.failed", message: "m" }),
      /succeeded must not have an error/,
    ],
    [
      "a failure that waits",
      (lines) =>
        Object.assign(at(lines, "workflow:end"), { status: "failed", error: { code: "run.waiting", message: "m" } }),
      /failed does not match the error/,
    ],
    ["a status that is none", (lines) => (at(lines, "workflow:end").status = "fine"), /status/],
  ])("with %s is invalid", (_, change, fault) => {
    const { line, message } = faultOfRecording(...changed(change)) ?? {};
    expect(`${line}: ${message}`).toMatch(fault);
  });

  test.each(["no.such_code", "constructor", ""])("of a run that ended with the code %j has an exit code: 4", (code) => {
    const error = { code, message: "of another version" };
    const [first, rest] = changed((lines) => Object.assign(at(lines, "workflow:end"), { status: "failed", error }));
    expect(faultOfRecording(first, rest)).toBeUndefined();
    expect(describeResult(first, rest.reduce(fold, begin(first))).exitCode).toBe(4);
  });

  test("that passes the check in spite of random changes can be reported and resumed", () => {
    let passed = 0;
    for (let seed = 1; seed <= (process.env.SKILLFLOW_LONG ? 20_000 : 300); seed++) {
      const [first, rest] = changed((lines) => damage(lines, dice(seed)));
      if (faultOfRecording(first, rest)) continue;
      passed += 1;
      const state = rest.reduce(fold, begin(first));
      const report = { record: first, events: rest, result: describeResult(first, state) };
      expect(Number.isInteger(report.result.exitCode), `seed ${seed}`).toBe(true);
      expect(summaryMarkdown(report) + reportHtml(report), `seed ${seed}`).toContain("r1");
      const program = linkProgram(first);
      for (let ended = begin(first), index = 0; index <= rest.length; index++) {
        expect(() => next(program, ended), `seed ${seed}, event ${index}`).not.toThrow();
        const event = rest[index];
        if (event) ended = fold(ended, event);
      }
    }
    expect(passed).toBeGreaterThan(20);
  });
});

/** A random number generator with a seed: the same numbers in each run of the tests. */
function dice(seed: number): (sides: number) => number {
  let state = seed * 2_654_435_761;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

const ODD = [null, 0, -1, "x", [], {}, true, 1e300, "__proto__", "constructor"];

/** Removes one value, or replaces it. */
function damage(lines: Open[], roll: (sides: number) => number): void {
  const line = lines[roll(3) === 0 ? 0 : roll(lines.length)] ?? {};
  const places = placesIn(line);
  const [holder, key] = places[roll(places.length)] ?? [line, "x"];
  const [other, from] = places[roll(places.length)] ?? [line, "x"];
  if (roll(3) === 0) delete holder[key];
  else holder[key] = structuredClone(roll(2) === 0 ? ODD[roll(ODD.length)] : other[from]);
}

function placesIn(value: unknown): [Open, string][] {
  if (typeof value !== "object" || value === null) return [];
  const holder = value as Open;
  return Object.keys(holder).flatMap((key) => [[holder, key] as [Open, string], ...placesIn(holder[key])]);
}
