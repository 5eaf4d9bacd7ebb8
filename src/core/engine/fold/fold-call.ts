import { isImage } from "../../base/image.ts";
import { defined, mapped } from "../../base/values.ts";
import { refusedCall } from "../../skill/skill.ts";
import type { RecordedCall } from "../event/call.ts";
import type { Envelope, EventOf } from "../event/event.ts";
import type { ToolAnswer } from "../event/prompt.ts";
import { standAfter, UNTOUCHED } from "../plan/standing.ts";
import { touchOf } from "../tools/state.ts";
import type { State } from "./state.ts";
import { newCall, type PendingCall, toolCallOf, type Visit } from "./visit.ts";

export function foldCall(state: State, event: EventOf<"tool:call"> & Envelope): void {
  const { ref, node, tool, input, step } = event;
  const place = { ...defined("at", state.inside?.at), ...defined("step", step) };
  const recorded: RecordedCall = { ref, node, ...place, tool, input, outcome: undefined };
  state.run.calls.set(ref, recorded);
  state.visit?.recorded.push(recorded);
  if (state.visit && step !== undefined) beginStep(state.visit, { key: event.id, tool, input, step });
  const call = pendingOf(state.visit, event.id);
  if (call) Object.assign(call, { announced: event.epoch, ref });
}

/** Adds the call of a step, which no reply has announced. The calls of a record form a turn. */
function beginStep(visit: Visit, call: Pick<PendingCall, "key" | "tool" | "input" | "step">): void {
  visit.pending.push(newCall({ ...call, id: call.key, index: visit.pending.length, broken: false }));
  visit.unanswered += 1;
}

export function foldResult(state: State, event: EventOf<"tool:result"> & Envelope): void {
  const { visit } = state;
  const { ref, output = null, error, acted, blobs, planned = false, redactions = {} } = event;
  const { redactions: counted } = state.run;
  for (const [name, count] of Object.entries(redactions)) counted.set(name, (counted.get(name) ?? 0) + count);
  if (blobs?.some((blob) => !isImage(blob))) state.run.holdsBlobs = true;
  const recorded = ref === undefined ? undefined : state.run.calls.get(ref);
  if (recorded && planned) recorded.planned = planned;
  if (recorded) recorded.outcome = error === undefined ? { output, ...defined("blobs", blobs) } : { error };
  const touch = recorded && !planned && touchOf(event.tool, recorded.input, output, event.time);
  if (touch) state.run.touches.push({ ...touch, visit: visit?.key ?? "" });
  if (visit && event.same !== undefined) repeatCall(visit, event);
  const call = pendingOf(visit, event.id);
  if (!visit || !call) return;
  if (!call.outcome) visit.unanswered -= 1;
  call.outcome = error === undefined ? { output } : { error, ...(acted === "unknown" ? { acted } : {}) };
  call.planned = planned;
  const images = blobs?.filter(isImage) ?? [];
  if (images.length > 0) call.images = images;
  if (visit.unanswered > 0) return;
  if (event.step === undefined) visit.turns.push({ role: "tools", results: mapped(visit.pending, answerOf) });
  else {
    visit.replies += 1;
    visit.latestGroup = visit.calls.length;
    const isDoubtful = ({ outcome }: PendingCall) => outcome && "error" in outcome && outcome.acted === "unknown";
    visit.isDoubtful = visit.pending.some(isDoubtful);
  }
  for (const answered of visit.pending) if (answered.ref !== undefined) visit.calls.push(toolCallOf(answered));
  visit.pending = [];
}

/** Gives a step the output of an equal call before it. */
function repeatCall(visit: Visit, { tool, step, same }: EventOf<"tool:result">): void {
  const { input = null, output = null } = visit.calls.find(({ ref }) => ref === same) ?? {};
  visit.calls.push({ tool, input, output, ...defined("step", step) });
  visit.replies += 1;
}

/** Finds a pending call by the index at the end of its key, so that folding a large turn stays linear. */
function pendingOf(visit: Visit | undefined, key: string): PendingCall | undefined {
  const call = visit?.pending[Number(key.slice(key.lastIndexOf("/") + 1))];
  return call?.key === key ? call : undefined;
}

function answerOf({ id, ref, outcome, images }: PendingCall): ToolAnswer {
  const named = defined("ref", ref);
  if (outcome && "error" in outcome) return { id, ...named, output: { ...outcome }, failed: true };
  return { id, ...named, output: outcome?.output ?? null, ...defined("images", images), failed: false };
}

export function foldAudience({ visit }: State, event: EventOf<"tool:audience">): void {
  const { id, audience, error, code = "tool.failed" } = event;
  const known = { audience, ...(error === undefined ? {} : { refusal: refusedCall(error, code) }) };
  foldKnown(visit, id, known);
}

export function foldChange({ visit }: State, { id, change, error = "", code }: EventOf<"tool:change">): void {
  foldKnown(visit, id, { change: change ?? refusedCall(error, code ?? "tool.failed") });
}

/** Keeps what was asked for before a call. A step's call is announced later. */
function foldKnown(visit: Visit | undefined, id: string, known: Partial<PendingCall>): void {
  const call = pendingOf(visit, id);
  if (call) Object.assign(call, known);
  else visit?.audiences.set(id, { ...visit.audiences.get(id), ...known });
}

export function foldPlanned({ run, visit, inside }: State, event: EventOf<"operation:planned">): void {
  const { aliases: named = {} } = event;
  const operation = inside ? { ...event.operation, at: inside.at } : event.operation;
  const { operations, aliases } = run;
  for (const [alias, text] of Object.entries(named)) aliases.set(text, alias);
  const { key = "", attempt = 0 } = visit ?? {};
  operations.push({ operation, visit: key, attempt, withdrawn: false, failedIn: new Set(), application: UNTOUCHED });
}

export function foldApplied(
  state: State,
  event: EventOf<"operation:begun" | "operation:ended" | "operation:refused" | "operation:resolved"> & Envelope,
): void {
  state.run.afterwards += 1;
  const planned = state.run.operations.find(({ operation }) => operation.id === event.operation);
  if (planned) planned.application = standAfter(planned.application, event);
}
