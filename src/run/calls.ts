import { callEvents } from "../core/engine/decide/turn-calls.ts";
import type { Call } from "../core/engine/event/call.ts";
import type { Entry, StepKey } from "../core/engine/event/event.ts";
import type { SingleStep } from "../core/engine/fold/step.ts";
import type { Outcome } from "../core/skill/skill.ts";
import type { Budget } from "./budget.ts";
import type { CallTool } from "./call.ts";
import { Stop } from "./stop.ts";

/** Runs the tool calls of a turn in parallel. */

interface Calling {
  readonly callTool: CallTool;
}

export interface Running {
  readonly calls: Map<StepKey, RunningCall>;
  /** Stops all the calls. Replaced after use. */
  stop: Stop;
  /** Called when a call is over. Replaced by the code that waits. */
  tell: () => void;
}

interface RunningCall {
  readonly call: Call;
  isBegun: boolean;
  outcome?: Outcome;
  /** An unexpected error. Calls themselves never throw. */
  defect?: { readonly error: unknown };
}

export function noCalls(): Running {
  return { calls: new Map(), stop: new Stop(), tell: () => undefined };
}

/** Starts the calls that are not running yet, waits until at least one finishes, and returns all finished ones. */
export async function performCalls(
  run: Calling,
  step: Extract<SingleStep, { kind: "call" }>,
  { running, budget }: { readonly running: Running; readonly budget: Budget },
): Promise<readonly Entry[]> {
  if (!budget.ended()) for (const call of step.calls) if (!running.calls.has(call.key)) startCall(run, call, running);
  try {
    await budget.orEnd(oneOver(running));
  } catch (error) {
    if (!budget.ended()) throw error;
  }
  const finished = [...running.calls.values()].filter((entry) => entry.outcome !== undefined);
  for (const { call } of finished) running.calls.delete(call.key);
  const bodies: Entry[] = [];
  for (const { call, outcome } of finished) if (outcome) bodies.push(...callEvents(step.node, call, outcome));
  if (!budget.ended()) return bodies;
  const ending = budget.event();
  const isLimit = ending.type === "limit:reached";
  const endsNode = isLimit && (ending.limit === "node_timeout" || ending.at !== undefined);
  const code = isLimit ? "limit.reached" : "run.interrupted";
  const cutOff = step.calls.filter(({ key }) => !finished.some(({ call }) => call.key === key));
  running.stop.abort(() => new Error(budget.reason()));
  for (const call of cutOff) {
    const { isBegun = false } = running.calls.get(call.key) ?? {};
    // A call that was announced but not started is not in doubt.
    const isSettled = endsNode || (!isBegun && !call.tool.idempotent);
    const error = `was ${isBegun ? "cut off" : "not started"}: ${budget.reason()}`;
    const acted = isBegun && call.tool.effect === "write" ? "unknown" : "no";
    if (isSettled) bodies.push(...callEvents(step.node, call, { error, code, acted }));
  }
  Object.assign(running, noCalls());
  return [...bodies, ending];
}

function startCall(run: Calling, call: Call, running: Running): void {
  const entry: RunningCall = { call, isBegun: false };
  const { stop, calls } = running;
  calls.set(call.key, entry);
  const over = (how: Pick<RunningCall, "outcome" | "defect">) => {
    Object.assign(entry, how);
    running.tell();
  };
  const begun = () => {
    entry.isBegun = true;
  };
  run.callTool(call, stop, begun).then(
    (outcome) => over({ outcome }),
    (error: unknown) => over({ defect: { error } }),
  );
}

/** Waits for a call, and until the end of that turn of the event loop unless all are over, to record them together. */
function oneOver(running: Running): Promise<void> {
  const entries = [...running.calls.values()];
  const isOver = ({ outcome, defect }: RunningCall) => outcome !== undefined || defect !== undefined;
  return new Promise((resolve, reject) => {
    let turn: NodeJS.Immediate | undefined;
    const end = () => {
      const broken = entries.find(({ defect }) => defect);
      if (broken) reject(broken.defect?.error);
      else resolve();
    };
    running.tell = () => {
      if (!entries.some(isOver)) return;
      if (!entries.every(isOver)) turn ??= setImmediate(end);
      else {
        clearImmediate(turn);
        end();
      }
    };
    running.tell();
  });
}
