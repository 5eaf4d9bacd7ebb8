import type { ServerResponse } from "node:http";
import { type LoopbackRequest, sendJson, startLoopback } from "../../src/testing.ts";
import { startChat } from "../services/chat.ts";
import type { Scripted } from "../services/script.ts";
import { answerOf } from "./script.ts";

/** Services that outlive the program: a model, and a ledger of the tools' actions. */
export interface World {
  /** Environment of a run. `place` is the id of the run. */
  env(place: string): Readonly<Record<string, string>>;
  ledger(place: string): Ledger;
  /** How many requests there were. */
  readonly requests: number;
  /** Schedules a disturbance at a request, counted from now on. */
  plan(strike: Strike | undefined): void;
  close(): Promise<void>;
}

/** The actions done in one run's name, by the keys of its calls. */
export type Ledger = ReadonlyMap<string, Entry>;

interface Entry {
  readonly tool: string;
  readonly text: string;
  /** How often it arrived. */
  readonly times: number;
}

/** Before the action, after it and before the answer, or with half of the answer sent. */
export const MOMENTS = ["before", "after", "midway"] as const;
export type Moment = (typeof MOMENTS)[number];

export interface Strike {
  /** Counted from 1. */
  readonly nth: number;
  readonly moment: Moment;
  /**
   * Gets the request that it disturbs. No action or answer follows before it returns, and none at all if it killed the
   * caller.
   */
  readonly strike: (at: string) => Promise<"killed" | "alive">;
}

export async function openWorld(): Promise<World> {
  const ledgers = new Map<string, Map<string, Entry>>();
  let requests = 0;
  let left = 0;
  let planned: Strike | undefined;
  /** The disturbance that is due at this request. */
  const due = (): Strike | undefined => {
    requests += 1;
    left -= 1;
    if (left !== 0) return undefined;
    const strike = planned;
    planned = undefined;
    return strike;
  };
  const ledgerOf = (place: string) => {
    const ledger = ledgers.get(place) ?? new Map<string, Entry>();
    ledgers.set(place, ledger);
    return ledger;
  };
  const tools = await startLoopback(async (request, response) => {
    const strike = due();
    if (strike?.moment === "before" && (await strike.strike("before a tool")) === "killed") return;
    const done = carryOut(ledgerOf(request.url.slice(1)), request);
    if (strike?.moment === "midway") sendHalf(response, done.said);
    if (strike && strike.moment !== "before" && (await strike.strike(`${strike.moment} ${done.tool}`)) === "killed")
      return;
    if (!response.headersSent) sendJson(response, done.status, done.said);
  });
  const model = await startChat(async (body): Promise<Scripted> => {
    const strike = due();
    if (!strike) return answerOf(body);
    if (strike.moment !== "midway") {
      await strike.strike(`${strike.moment} a model`);
      return answerOf(body);
    }
    setImmediate(() => setImmediate(() => void strike.strike("midway a model"))); // once the half is sent
    return { text: "half of an answer", cut: "silence" };
  });
  return {
    env: (place) => ({ OPENAI_BASE_URL: model.url, LEDGER_URL: `${tools.url}/${place}` }),
    ledger: ledgerOf,
    get requests() {
      return requests;
    },
    plan(strike) {
      planned = strike;
      left = strike?.nth ?? 0;
    },
    close: async () => void (await Promise.all([tools.close(), model.close()])),
  };
}

function carryOut(ledger: Map<string, Entry>, { body }: LoopbackRequest) {
  const { tool, key, text } = JSON.parse(body) as {
    readonly tool: string;
    readonly key: string;
    readonly text: string;
  };
  const before = ledger.get(key);
  if (before && (before.tool !== tool || before.text !== text)) throw new Error(`the key ${key} is used twice`);
  ledger.set(key, { tool, text, times: (before?.times ?? 0) + 1 });
  if (tool === "fail" || tool === "refuse") return { tool, status: 500, said: { error: `no ${text} today` } };
  if (tool === "big") return { tool, status: 200, said: { text: `line of ${text}\n`.repeat(4000) } };
  if (tool !== "look") return { tool, status: 200, said: { said: `it is written down at ${text}` } }; // a write in doubt is not evidence
  return { tool, status: 200, said: { said: `it was seen at ${text}` } };
}

function sendHalf(response: ServerResponse, said: unknown): void {
  const text = JSON.stringify(said);
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  response.write(text.slice(0, text.length / 2));
}
