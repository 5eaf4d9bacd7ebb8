import { messageOf } from "../../core/base/errors.ts";
import type { Rate } from "../../core/engine/ports.ts";
import { declaredRates, describeRate } from "../../core/engine/settings/rates.ts";
import { refusedCall } from "../../core/skill/skill.ts";
import type { AskOptions } from "../../run/ask.ts";
import type { CallTool } from "../../run/call.ts";
import type { Stopping } from "../../run/stop.ts";
import { memoryTurns } from "../../stores/turns.ts";
import type { Workspace } from "../host.ts";
import { configFiles } from "../workspace.ts";

export type Pace = NonNullable<ReturnType<typeof openPace>>;

/** Rate limits of this process, for runs without a database. */
const OURS = memoryTurns();

interface Pacing {
  readonly bounds: readonly Rate[];
  readonly signal: Stopping;
  /** Node of the waiting call. Undefined for the run itself. */
  readonly node: string | undefined;
  readonly what: string;
}

/**
 * Delays runs, model calls and tool calls to respect the rates in `.skillflow.yml`. Undefined if there are none. `report`
 * is called if a call of a node waits, or the run itself if the node is undefined.
 */
export function openPace(
  workspace: Pick<Workspace, "nearest" | "project" | "user" | "queue">,
  report: (node: string | undefined, message: string) => void = () => undefined,
) {
  const rates = declaredRates(configFiles(workspace));
  if (!rates) return undefined;
  const turns = workspace.queue?.turns ?? OURS;
  const inTurns = async <Value>({ bounds, signal, node, what }: Pacing, work: () => Promise<Value>): Promise<Value> => {
    const taken: (() => void)[] = [];
    try {
      for (const rate of bounds) {
        const onWait = () => report(node, `waiting for ${what}'s turn (${describeRate(rate)})`);
        taken.push(await turns.take(rate, signal, onWait));
      }
      return await work();
    } finally {
      for (const giveBack of taken) giveBack();
    }
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
        const reply: typeof model.reply = (prompt, call) =>
          inTurns({ bounds, signal: call.signal, node: call.node, what: provider }, () => model.reply(prompt, call));
        return { name, model: { provider, reply } };
      },
    /** Delays tool calls. A tool's timeout starts after the wait. */
    callTool:
      (call: CallTool): CallTool =>
      async (wanted, signal, onBegin) => {
        const { skill } = wanted.tool;
        const bounds = rates.ofSkill(skill);
        if (bounds.length === 0) return call(wanted, signal, onBegin);
        const pacing = { bounds, signal, node: nodeOf(wanted.key), what: skill };
        try {
          return await inTurns(pacing, () => call(wanted, signal, onBegin));
        } catch (error) {
          if (!signal.aborted) throw error;
          return refusedCall(messageOf(error), "run.interrupted");
        }
      },
    /** Delays the run. If it is interrupted while it waits, it starts at once in order to end. */
    async run<Value>(signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
      let isBegun = false;
      const begin = () => {
        isBegun = true;
        return work();
      };
      try {
        return await inTurns({ bounds: rates.runs, signal, node: undefined, what: "the run" }, begin);
      } catch (error) {
        if (isBegun || !signal.aborted) throw error;
        return work();
      }
    },
  };
}

/** Finds the node in a key such as `2:look/1/1`, also for keys of inner runs. */
function nodeOf(key: string): string {
  return [...key.matchAll(/(?<!\d)\d+:([^/]+)/g)].at(-1)?.[1] ?? key;
}
