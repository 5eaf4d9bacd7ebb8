import { messageOf } from "../../core/base/errors.ts";
import type { Rate, Turns } from "../../core/engine/ports.ts";
import { declaredRates, describeRate } from "../../core/engine/settings/rates.ts";
import { refusedCall } from "../../core/skill/skill.ts";
import type { AskOptions } from "../../run/ask.ts";
import type { CallTool } from "../../run/call.ts";
import type { Stopping } from "../../run/stop.ts";
import { memoryTurns } from "../../stores/turns.ts";
import type { Workspace } from "../host.ts";
import { configFiles } from "../workspace.ts";

export type Pace = NonNullable<ReturnType<typeof openPace>>;

/** Reports that a call of a node is waiting, or the run itself if `node` is undefined. */
type Told = (node: string | undefined, message: string) => void;

type Rated = Pick<Workspace, "nearest" | "project" | "user" | "queue">;

/** Rate limits of this process, for runs without a database. */
const OURS = memoryTurns();

/** Delays runs, model calls and tool calls to respect the rates in `.skillflow.yml`. Undefined if there are none. */
export function openPace(workspace: Rated, told: Told = () => undefined) {
  const rates = declaredRates(configFiles(workspace));
  if (!rates) return undefined;
  const turns = workspace.queue?.turns ?? OURS;
  const waiting = (node: string | undefined, what: string) => (rate: Rate) => {
    told(node, `waiting for ${what}'s turn (${describeRate(rate)})`);
  };
  return {
    /** Delays model calls. The run's time limit and signals also end the wait. */
    findModel:
      (find: AskOptions["findModel"]): AskOptions["findModel"] =>
      async (named) => {
        const { model, name } = await find(named);
        const bounds = rates.ofModel(`${model.provider}:${name}`);
        if (bounds.length === 0) return { model, name };
        const { provider } = model;
        const reply: typeof model.reply = (prompt, call) => {
          const asking = { turns, bounds, signal: call.signal, onWait: waiting(call.node, provider) };
          return inTurns(asking, () => model.reply(prompt, call));
        };
        return { name, model: { provider, reply } };
      },
    /** Delays tool calls. A tool's timeout starts after the wait. */
    callTool:
      (call: CallTool): CallTool =>
      async (wanted, stopping, onBegin) => {
        const { skill } = wanted.tool;
        const bounds = rates.ofSkill(skill);
        if (bounds.length === 0) return call(wanted, stopping, onBegin);
        const asking = { turns, bounds, signal: stopping, onWait: waiting(nodeOf(wanted.key), skill) };
        try {
          return await inTurns(asking, () => call(wanted, stopping, onBegin));
        } catch (error) {
          if (!stopping.aborted) throw error;
          return refusedCall(messageOf(error), "run.interrupted");
        }
      },
    /** Delays the run. If it is interrupted while it waits, it starts at once in order to end. */
    async run<Value>(signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
      const asking = { turns, bounds: rates.runs, signal, onWait: waiting(undefined, "the run") };
      let isBegun = false;
      const begin = () => {
        isBegun = true;
        return work();
      };
      try {
        return await inTurns(asking, begin);
      } catch (error) {
        if (isBegun || !signal.aborted) throw error;
        return work();
      }
    },
  };
}

interface Asking {
  readonly turns: Turns;
  readonly bounds: readonly Rate[];
  readonly signal: Stopping;
  readonly onWait: (rate: Rate) => void;
}

async function inTurns<Value>({ turns, bounds, signal, onWait }: Asking, work: () => Promise<Value>): Promise<Value> {
  const taken: (() => void)[] = [];
  try {
    for (const rate of bounds) taken.push(await turns.take(rate, signal, () => onWait(rate)));
    return await work();
  } finally {
    for (const giveBack of taken) giveBack();
  }
}

/** Finds the node in a key such as `2:look/1/1`, also for keys of inner runs. */
function nodeOf(key: string): string {
  return [...key.matchAll(/(?<!\d)\d+:([^/]+)/g)].at(-1)?.[1] ?? key;
}
