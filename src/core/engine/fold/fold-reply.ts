import { mapped } from "../../base/values.ts";
import type { Envelope, EventOf } from "../event/event.ts";
import { type Part, textOf } from "../event/prompt.ts";
import { type State, type UsageTotals, withOuter } from "./state.ts";
import { newCall, type PendingCall, type Visit } from "./visit.ts";

/** Folds a reply. Of a refused or cut-off reply, only the text is kept, and its calls are not carried out. */
export function foldReply(state: State, event: EventOf<"model:reply"> & Envelope): void {
  for (const each of withOuter(state)) addUsage(each.usage, event.usage);
  const text = textOf(event.parts);
  const { visit, leaving } = state;
  if (event.purpose === "route") leaving?.answers.push(text);
  if (!visit) return;
  if (event.purpose === "judge") judgeOf(visit, event).push(text);
  if (event.purpose === "reflect") visit.reflection = text.trim() === "" ? null : text;
  if (event.purpose !== "work") return;
  visit.replies += 1;
  visit.rejected = undefined;
  const parts = event.stop === "end" ? event.parts : event.parts.filter((part) => part.type === "text");
  if (parts.length > 0) visit.turns.push({ role: "assistant", parts });
  if (event.stop !== "length") visit.askedAgain = false;
  visit.pending = pendingCalls(visit, parts);
  visit.unanswered = visit.pending.length;
  visit.answer = visit.pending.length === 0 ? { text, stop: event.stop } : undefined;
}

export function addUsage(totals: UsageTotals, usage: EventOf<"model:reply">["usage"]): void {
  totals.modelCalls += 1;
  totals.inputTokens += usage?.inputTokens ?? 0;
  totals.cachedTokens += usage?.cachedTokens ?? 0;
  totals.outputTokens += usage?.outputTokens ?? 0;
  totals.costUsd += usage?.costUsd ?? 0;
  if (usage?.costUsd === null || usage === null) totals.unpriced += 1;
  if (usage === null) totals.uncounted += 1;
}

function pendingCalls(visit: Visit, parts: readonly Part[]): PendingCall[] {
  const calls = parts.filter((part) => part.type === "call" || part.type === "broken_call");
  return mapped(calls, (part, index) =>
    newCall({
      key: `${visit.key}/${visit.attempt}/${visit.replies}/${index}`,
      index,
      id: part.id,
      tool: part.tool,
      input: part.type === "call" ? part.input : part.text,
      broken: part.type === "broken_call",
    }),
  );
}

function judgeOf(visit: Visit, event: Envelope): (string | undefined)[] {
  const index = evaluatorOf(event);
  const answers = visit.judged.get(index) ?? [];
  visit.judged.set(index, answers);
  return answers;
}

/** Returns an evaluator's index from the step key, such as `3:assess/0/judge/2/1` or `3:assess/0/evidence/0`. */
export function evaluatorOf({ key }: Envelope): number {
  return Number(/\/(?:judge\/(\d+)\/\d+|evidence\/(\d+))(?:@\d+)?(?:~\d+)?$/.exec(key)?.slice(1).find(Boolean) ?? 0);
}

export function foldModelError(state: State, event: EventOf<"model:error"> & Envelope): void {
  const { visit, leaving } = state;
  const { code, message, hint, node } = event;
  for (const each of withOuter(state)) each.modelError = { code, message, ...(hint ? { hint } : {}), node };
  if (event.purpose === "route" && leaving) {
    leaving.answers.push(undefined);
    leaving.routeError = state.modelError;
  }
  if (!visit) return;
  if (event.purpose === "judge") judgeOf(visit, event).push(undefined);
  if (event.purpose === "reflect") visit.reflection = null;
  if (event.purpose !== "work") return;
  visit.failure = { message, code, ...(hint ? { hint } : {}) };
}

/** Notes that a model could not answer. The rest of the visit asks the next ones of its lists. */
export function foldSwitch({ visit, leaving }: State, { from }: EventOf<"model:switch">): void {
  const asking = visit ?? leaving;
  if (asking) Object.assign(asking, { down: [...asking.down, from] });
}

export function foldRejection({ visit }: State, { reason, problems, claims }: EventOf<"reply:rejected">): void {
  if (!visit) return;
  const { answer, examined, replies } = visit;
  visit.rejected = problems;
  visit.turns.push({ role: "user", text: reason });
  if (claims) {
    visit.recheck = { text: answer?.text ?? "", examined, replies };
    visit.examined = new Map();
    visit.judged = new Map();
  } else if (answer?.stop === "length") visit.askedAgain = true;
  else visit.corrected = true;
  visit.answer = undefined;
}
