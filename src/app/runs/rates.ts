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

/** Has runs, and what they call, wait for their turn (`.skillflow.yml` "rates"). */
export interface Pace {
  /** A model call waits as the call of its provider would: the run's time limit and signals end it. */
  findModel(find: AskOptions["findModel"]): AskOptions["findModel"];
  /** A tool's time limit counts from its turn on. */
  callTool(call: CallTool): CallTool;
  /** What is interrupted while it waits goes on at once, to its end. */
  run<Value>(signal: AbortSignal, work: () => Promise<Value>): Promise<Value>;
}

/** Told while something waits: at the node that a call belongs to, at none where it is the run itself. */
type Told = (node: string | undefined, message: string) => void;

type Rated = Pick<Workspace, "nearest" | "project" | "user" | "queue">;

/** Of a process, where its runs are in no database. */
const OURS = memoryTurns();

/** Undefined where nothing is said of rates. */
export function openPace(workspace: Rated, told: Told = () => undefined): Pace | undefined {
  const rates = declaredRates(configFiles(workspace));
  if (!rates) return undefined;
  const turns = workspace.queue?.turns ?? OURS;
  const waiting = (node: string | undefined, what: string) => (rate: Rate) => {
    told(node, `waiting for ${what}'s turn (${describeRate(rate)})`);
  };
  return {
    findModel: (find) => async (named) => {
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
    callTool: (call) => async (wanted, stopping, onBegin) => {
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
    async run(signal, work) {
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

/** `2:look/1/1`, inside another node's run too. */
function nodeOf(key: string): string {
  return [...key.matchAll(/(?<!\d)\d+:([^/]+)/g)].at(-1)?.[1] ?? key;
}
