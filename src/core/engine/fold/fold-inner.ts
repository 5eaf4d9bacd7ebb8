import { SkillflowError } from "../../base/errors.ts";
import { defined, type JsonObject } from "../../base/values.ts";
import { encodeKey } from "../../document/inner/place.ts";
import type { Envelope, EventOf } from "../event/event.ts";
import { standDecided } from "../plan/standing.ts";
import { judgementData } from "../state/unseen.ts";
import { degradedIn } from "./degraded.ts";
import { visitsInside } from "./last-visits.ts";
import { isUnder } from "./limits.ts";
import { changeSkills } from "./redo.ts";
import { type InnerTrace, pathOfNode, State } from "./state.ts";
import type { Item, Items, Visit } from "./visit.ts";

export function foldMap({ visit, run, inside }: State, event: EventOf<"map:start"> & Pick<Envelope, "time">): void {
  if (!visit) return;
  const { items, left, state, time: at } = event;
  const met = state === undefined ? [] : items.filter(({ seen }) => seen);
  for (const { key } of met) run.touches.push({ state: state ?? "", key, at, visit: visit.key });
  const all = items.map(({ key, index, skipped_reason, error }): Item => {
    if (skipped_reason !== undefined) return { key, index, outcome: { status: "skipped", data: {}, skipped_reason } };
    return { key, index, outcome: error === undefined ? undefined : { status: "failed", data: { error } } };
  });
  const failed = all.filter(({ outcome }) => outcome?.status === "failed").length;
  visit.items = itemsAt({ run, inside }, visit, { all, left, failed });
}

export function foldInnerStart(state: State, event: EventOf<"inner:start">): void {
  const { inner: at, node, item: key } = event;
  const item = beginning(state, key);
  const { visit, run } = state;
  if (!item || !visit?.items) return;
  visit.items.running.set(at, item);
  visit.items.active.add(at);
  const input = wholeInput(event, visit.items.first);
  visit.items.first ??= input;
  const prefix = `${visit.key}${key === undefined ? "" : `[${encodeKey(key)}]`}/`;
  const inside = { at, prefix, parent: state, node, key, from: run.activeMs, waits: undefined };
  run.inner.set(at, new State(run, input, inside));
}

/** Adds the fields that are the same as in the first item, at their places. */
function wholeInput({ input, same = [] }: EventOf<"inner:start">, first: JsonObject = input): JsonObject {
  if (same.length === 0) return input;
  const lost = same.find((name) => !Object.hasOwn(first, name));
  if (lost !== undefined)
    throw new SkillflowError("recording.invalid", `an item has the input ${lost} of the first item, which has none`);
  const fields = Object.keys(first).map((name) => [name, (same.includes(name) ? first : input)[name] ?? null]);
  return Object.fromEntries(fields);
}

type Listed = Pick<Items, "all" | "left" | "failed">;

function itemsAt({ run, inside }: Pick<State, "run" | "inside">, { node }: Visit, listed: Listed): Items {
  const stopsAtFailure = run.stopsAtFailure.has(pathOfNode({ inside }, node));
  const items = { ...listed, begun: 0, stopsAtFailure, isCut: false, first: undefined };
  passSettled(items);
  return { ...items, degraded: [], visits: [], running: new Map(), active: new Set() };
}

/** Advances to the next item that has no outcome, so that no decision passes over the others again. */
function passSettled(items: Pick<Items, "all" | "begun">): void {
  while (items.all[items.begun]?.outcome) items.begun += 1;
}

/** Returns the item that begins next. A call has only one. */
function beginning(state: State, key: string | undefined): Item | undefined {
  const { visit } = state;
  if (!visit) return undefined;
  visit.items ??= itemsAt(state, visit, {
    all: [{ key: undefined, index: 0, outcome: undefined }],
    left: 0,
    failed: 0,
  });
  const { items } = visit;
  for (; items.begun < items.all.length; items.begun++) {
    const item = items.all[items.begun];
    if (!item || item.outcome || item.key !== key) continue;
    items.begun += 1;
    passSettled(items);
    return item;
  }
  return undefined;
}

/** Ends an inner run, or an item that could not begin. */
export function foldInnerEnd(state: State, event: EventOf<"inner:end"> & Pick<Envelope, "time">): void {
  const { inner: at, item: key, status, data, skipped_reason, error } = event;
  const { visit, run } = state;
  const item = visit?.items?.running.get(at) ?? beginning(state, key);
  if (!visit?.items || !item) return;
  item.outcome = { status, data, ...defined("skipped_reason", skipped_reason) };
  if (status === "failed") visit.items.failed += 1;
  if (event.cut) visit.items.isCut = true;
  if (event.judged && key !== undefined) {
    const { state: name, values, tainted } = event.judged;
    const put = judgementData(values, event.time, data.verdict);
    run.touches.push({ state: name, key, at: event.time, data: put, ...defined("tainted", tainted), visit: visit.key });
  }
  const inner = run.inner.get(at);
  const isOpen = key === undefined && inner?.unfinished !== undefined;
  if (inner) {
    keepTrace(inner);
    visit.items.degraded.push(...degradedIn(inner));
    if (!isOpen) visit.items.visits.push(...visitsInside(inner, visit.items));
  }
  visit.items.running.delete(at);
  visit.items.active.delete(at);
  if (!isOpen) run.inner.delete(at);
  if (key === undefined && status === "failed") {
    const { code, message = String(data.error), hint } = error ?? {};
    const cause = code === "limit.reached" ? { cause: "limits" as const } : {};
    visit.failure = { message, ...cause, ...(isOpen ? { ...defined("code", code), ...defined("hint", hint) } : {}) };
  }
}

export function innerTraces({ run }: State): Map<string, InnerTrace> {
  return new Map<string, InnerTrace>([...run.traces, ...run.inner]);
}

function keepTrace({ run, inside, steps, edges }: State): void {
  if (inside) run.traces.set(inside.at, { steps, edges });
}

/** Removes the inner runs of a visit that will not continue. */
export function forgetInner({ run }: State, { key, items }: Visit): void {
  if (!items) return;
  for (const [at, inner] of run.inner) {
    const { prefix = "" } = inner.inside ?? {};
    if (!isUnder(prefix, key)) continue;
    keepTrace(inner);
    run.inner.delete(at);
  }
}

export function foldAsked({ visit, run }: State, event: EventOf<"approval:asked"> & Pick<Envelope, "time">): void {
  if (!visit) return;
  const { ask, timeout_ms, digest, time: since } = event;
  const until = timeout_ms === undefined ? undefined : new Date(Date.parse(since) + timeout_ms).toISOString();
  visit.asked = { ask, since, until, from: visit.asked?.from ?? run.activeMs, digest, word: undefined };
}

/** Folds an answer. Unless it is for later, the run continues, even if the approval no longer exists. */
export function foldWord(whole: State, to: State | undefined, event: EventOf<"approval:given"> & Envelope): void {
  const { node, approved, by, note, late, later, settings, skills } = event;
  const { run } = whole;
  run.settings = { ...run.settings, ...settings };
  run.afterwards += 1;
  if (!later) {
    run.resumes += 1;
    run.timeFrom = run.activeMs;
    whole.end = undefined;
  }
  changeSkills(whole, skills);
  for (const one of run.operations) one.application = standDecided(one.application, event);
  if (to?.visit?.asked && to.visit.node === node) {
    to.visit.asked.word = { approved, by, ...defined("note", note), ...defined("late", late) };
    giveBackTime(to, run.activeMs - to.visit.asked.from);
  }
}

/** Extends the time limits of an inner run, and of those around it that wait only for it, by its waiting time. */
function giveBackTime(state: State, ms: number): void {
  for (let each = state; each.inside; each = each.inside.parent) {
    each.inside.from += ms;
    const { visit } = each.inside.parent;
    if (visit?.items?.running.size !== 1) return;
    visit.attemptFrom += ms;
  }
}
