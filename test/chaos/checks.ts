import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parseJson } from "../../src/core/base/values.ts";
import { documentOf } from "../../src/core/document/inner/place.ts";
import type { EventOf } from "../../src/core/engine/event/event.ts";
import type { RunResult } from "../../src/core/engine/result/result.ts";
import type { Course } from "./course.ts";
import type { Done } from "./life.ts";
import type { Ledger } from "./world.ts";

/** Facts that must hold for a run that was killed again and again. */

interface Compared {
  readonly course: Course;
  /** A run of the same workflow without disturbances. */
  readonly twin: Course;
  readonly ledger: Ledger;
  readonly calmly: Ledger;
  readonly looked: {
    readonly calm: Done | undefined;
    readonly shown: Done | undefined;
    readonly verified: Done | undefined;
    readonly replayed: Done | undefined;
  };
}

/** Reports problems to the course. Returns the number of calls in doubt. */
export function checkCourse({ course, twin, ledger, calmly, looked }: Compared): number {
  const { problems } = course;
  const [result, expected, replay] = [resultOf(looked.shown), resultOf(looked.calm), resultOf(looked.replayed)];
  if (!result || !expected) problems.push(`there is no result: ${looked.shown?.stderr}${looked.calm?.stderr}`);
  else {
    checkSame(problems, "the result differs from that of an undisturbed run", certain(result), certain(expected));
    if (looked.replayed?.code !== looked.shown?.code && looked.replayed?.code !== result.exitCode)
      problems.push(`the replay ended with ${looked.replayed?.code}: ${looked.replayed?.stderr}`);
    if (replay) checkSame(problems, "the replay differs", steady(replay), steady(result));
  }
  if (looked.verified?.code !== 0) problems.push(`the record does not verify: ${looked.verified?.stdout}`);
  const doubts = checkLedger(course, ledger, calmly);
  if (result?.status === "succeeded") {
    checkSame(problems, "the states differ", statesIn(course.folder), statesIn(twin.folder));
  }
  return doubts;
}

function resultOf(done: Done | undefined): RunResult | undefined {
  return done && (parseJson(done.stdout) as RunResult | undefined);
}

/** Each write happened once, except those in doubt, which happened once or not at all. */
function checkLedger(course: Course, ledger: Ledger, calmly: Ledger): number {
  const { problems } = course;
  const events = course.events();
  const results = events.filter(
    (event): event is EventOf<"tool:result"> & typeof event => event.type === "tool:result",
  );
  const doubts = new Set(results.filter(({ error }) => error?.startsWith("in doubt")).map(({ id }) => `r/${id}`));
  const known = new Set(events.flatMap((event) => (event.type === "tool:call" ? [`r/${event.id}`] : [])));
  const planned = events.flatMap((event) => (event.type === "operation:planned" ? [event.operation.digest] : []));
  for (const [key, { tool, times }] of ledger) {
    // A refused operation is tried again by each later apply.
    const isOnce = tool === "post" || (tool === "refuse" && planned.length === 0);
    const most = planned.includes(key) ? planned.filter((digest) => digest === key).length : 1;
    if (isOnce && times > most) problems.push(`${tool} ${key} was done ${times} times`);
    if (!known.has(key) && !planned.includes(key)) problems.push(`${tool} ${key} was done, and is not in the record`);
  }
  for (const { id, tool, error } of results) {
    const key = `r/${id}`;
    const name = tool.replace("ledger_", "");
    if (planned.length > 0 || tool === name || doubts.has(key) || error?.startsWith("same as")) continue;
    if (error === undefined && name !== "look" && name !== "big" && !ledger.has(key))
      problems.push(`${tool} ${key} is recorded as done, and was not done`);
  }
  for (const [key, { tool }] of calmly) {
    if (!ledger.has(key) && !doubts.has(key)) problems.push(`${tool} ${key} was not done, and no record reports it`);
  }
  return doubts.size;
}

function checkSame(problems: string[], what: string, one: unknown, other: unknown): void {
  if (!isDeepStrictEqual(one, other)) problems.push(`${what}: ${firstDifference(one, other)}`);
}

/** Finds the path at which two values first differ. */
export function firstDifference(one: unknown, other: unknown, path = ""): string {
  if (one && other && typeof one === "object" && typeof other === "object") {
    for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
      const [left, right] = [Reflect.get(one, name), Reflect.get(other, name)];
      if (!isDeepStrictEqual(left, right)) return firstDifference(left, right, `${path}.${name}`);
    }
  }
  return `${path}: ${JSON.stringify(one)?.slice(0, 300)} and not ${JSON.stringify(other)?.slice(0, 300)}`;
}

/** Without times, and without the order in which inner runs arrived. */
function steady({ results, status, trace, usage, plan, error, verdict, evidence }: RunResult) {
  // Reads of parallel items are listed in the order of their answers, and an equal operation is that of the first item.
  const planned = plan
    .map(({ id: _, at = "", sources, ...operation }) => {
      return { ...operation, at: documentOf(at), sources: sources.map(unnumbered).toSorted(byText) };
    })
    .map(unnumbered)
    .toSorted(byText);
  const told = { results, status, trace, modelCalls: usage.modelCalls, error, verdict, evidence };
  return { told: unnumbered(told), plan: planned };
}

function unnumbered(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replace(/"(?:r|op-)\d+"/g, '"one"'));
}

function byText(one: unknown, other: unknown): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1;
}

/** Also without the result of a call in doubt. */
function certain(result: RunResult) {
  return withoutDoubts(steady(result));
}

function withoutDoubts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDoubts);
  if (value === null || typeof value !== "object") return value;
  const isWrite = "tool" in value && "input" in value && /post|refuse/.test(String(value.tool));
  const kept = Object.entries(value).filter(([name]) => !isWrite || !["output", "error", "code"].includes(name));
  return Object.fromEntries(kept.map(([name, each]) => [name, withoutDoubts(each)]));
}

/** The states that the runs stored, without the times. */
function statesIn(folder: string): unknown {
  const place = join(folder, ".skillflow", "state");
  const names = existsSync(place) ? readdirSync(place).filter((name) => name.endsWith(".jsonl")) : [];
  return names.toSorted().map((name) => {
    const text = readFileSync(join(place, name), "utf8").replace(/\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?/g, "then");
    return [
      name,
      text
        .replace(/\/op-\d+/g, "/op")
        .split("\n")
        .toSorted(),
    ];
  });
}
