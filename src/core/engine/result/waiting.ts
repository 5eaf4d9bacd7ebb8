import { type SkillflowError, usageError } from "../../base/errors.ts";
import { defined, didYouMean } from "../../base/values.ts";
import type { Waiting } from "../event/end.ts";
import type { Envelope, EventBody, EventOf, RunEvent } from "../event/event.ts";
import type { Settings } from "../event/record.ts";
import type { Word } from "../fold/visit.ts";

/** Returns how a run ended. Undefined while it continues. */
export function endOf<Event extends { readonly type: string }>(
  events: readonly Event[],
): Extract<Event, { readonly type: "workflow:end" }> | undefined {
  const last = events.findLast((event) => event.type === "workflow:end" || takesUp(event));
  return last?.type === "workflow:end" ? (last as Extract<Event, { readonly type: "workflow:end" }>) : undefined;
}

/** Checks whether a run continues with this event. An answer for later leaves it waiting. */
export function takesUp(event: { readonly type: string; readonly later?: unknown }): boolean {
  return event.type === "run:resume" || (event.type === "approval:given" && event.later !== true);
}

/** Returns what a run waits for. Empty if it does not wait. */
export function waitsIn(events: readonly RunEvent[]): readonly Waiting[] {
  const end = endOf(events);
  const said = new Set(laterWords(events).map(pathOf));
  return end?.status === "waiting" ? (end.waiting ?? []).filter(({ node }) => !said.has(node)) : [];
}

/** Returns the answers recorded since the run's end that it has not used yet. */
export function laterWords(events: readonly RunEvent[]): readonly (EventOf<"approval:given"> & Envelope)[] {
  const end = events.findLastIndex((event) => event.type === "workflow:end" || takesUp(event));
  return events.slice(end + 1).flatMap((event) => (event.type === "approval:given" ? [event] : []));
}

function pathOf({ at, node }: { readonly at?: string | undefined; readonly node: string }): string {
  return at === undefined ? node : `${at}/${node}`;
}

export interface Said {
  /** Path of the node, such as `top/each[fp-81]/ask`. */
  readonly node: string;
  /** Time of the question that is answered. Undefined for the current one. */
  readonly since?: string | undefined;
  readonly approved: boolean;
  readonly by: string;
  readonly note?: string | undefined;
}

/** Returns the event of an answer. Throws `usage.invalid` if the approval is unknown, already answered or too late. */
export function wordOf(events: readonly RunEvent[], said: Said, { now, settings }: Moment) {
  const waiting = waitsIn(events);
  const wait = waiting.find(({ node, since }) => node === said.node && since === (said.since ?? since));
  if (!wait) throw nothingToDecide(events, said.node, waiting);
  if (isLate(wait, now)) {
    throw usageError(
      `it is too late: ${wait.node} waited until ${wait.until}`,
      "resume the run to continue without it",
    );
  }
  return recorded(events, wait, { approved: said.approved, by: said.by, ...defined("note", said.note) }, settings);
}

/** Returns a denial for each approval that was not answered in time. */
export function lateWords(events: readonly RunEvent[], now: number) {
  const late = waitsIn(events).filter((wait) => isLate(wait, now));
  return late.map((wait) => recorded(events, wait, { approved: false, by: "timeout", late: true }, {}));
}

interface Moment {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Settings that change when the run continues. */
  readonly settings: Partial<Settings>;
}

function isLate({ until }: Waiting, now: number): boolean {
  return until !== undefined && Date.parse(until) <= now;
}

function recorded(
  events: readonly RunEvent[],
  { node: path, digest }: Waiting,
  word: Word,
  settings: Partial<Settings>,
) {
  const end = path.lastIndexOf("/");
  const count = events.filter(({ type }) => type === "approval:given").length;
  const node = path.slice(end + 1);
  const body: EventBody = { type: "approval:given", node, ...word, ...defined("digest", digest), settings };
  return { key: `signal/${count + 1}/${path}`, body, ...(end === -1 ? {} : { at: path.slice(0, end) }) };
}

function nothingToDecide(events: readonly RunEvent[], node: string, waiting: readonly Waiting[]): SkillflowError {
  const nodes = waiting.map((wait) => wait.node);
  if (nodes.length === 0) return usageError("the run is not waiting for a decision", wordBefore(events, node));
  const hint = didYouMean(node, nodes) ?? `choose a node that waits: ${nodes.join(", ")}`;
  return usageError(`the run is not waiting for a decision at "${node}"`, hint);
}

function wordBefore(events: readonly RunEvent[], node: string): string | undefined {
  const word = events.findLast((event) => event.type === "approval:given" && pathOf(event) === node);
  if (word?.type !== "approval:given") return undefined;
  return `${node} was ${word.approved ? "approved" : "denied"} by ${word.by} at ${word.time}`;
}
