import { linkProgram } from "../src/core/engine/link.ts";
import type { State } from "../src/core/engine/state.ts";
import type { RunRecord } from "../src/core/event.ts";
import type { Journal, Model, Store } from "../src/core/ports.ts";
import { createAsk } from "../src/run/ask.ts";
import { driveRun } from "../src/run/drive.ts";

/** A run without any latency but the executor's own. */

const instant: Model = {
  provider: "instant",
  reply: async () => ({ parts: [{ type: "text", text: "done" }], stop: "end", usage: null }),
};

/** A chain of nodes with an instruction each. */
export function chainRecord(length: number): RunRecord {
  const ids = Array.from({ length }, (_, index) => `n${index}`);
  const text = "Look at what came before, and say what comes next.";
  const source = { content: text, kind: "inline", origin: text, resolver: "inline", hash: "0000000000000000" } as const;
  return {
    schema: "skillflow.run/1",
    run: `chain-${length}`,
    kind: "run",
    at: new Date().toISOString(),
    workflow: {
      id: "chain",
      name: "Chain",
      entry: "n0",
      nodes: Object.fromEntries(ids.map((id) => [id, { name: id, instruction: text }])),
      edges: ids.slice(1).map((to, index) => ({ from: `n${index}`, to })),
    },
    input: {},
    sources: Object.fromEntries(ids.map((id) => [`nodes.${id}.instruction`, source])),
    skills: [],
    settings: {
      model: "instant:model",
      judge_model: "instant:model",
      writes: "allow",
      limits: {},
      max_turns: 50,
      tool_timeout_ms: 60_000,
      context_mode: "full",
    },
    warnings: [],
  };
}

export async function driveChain(store: Store, length: number): Promise<State> {
  const record = chainRecord(length);
  const journal: Journal = await store.create(record);
  const state = await driveRun({
    program: linkProgram(record),
    journal,
    ask: createAsk({
      findModel: async (name) => ({ model: instant, name }),
      priceOf: () => null,
      clock: { sleep: async () => undefined, random: () => 0 },
      onProgress: () => undefined,
      onAnswering: () => undefined,
    }),
    callTool: async () => ({ output: null }),
    redactor: { text: (text) => text, value: (value) => value, unsearched: [] },
    observers: [],
    signal: new AbortController().signal,
    resumes: [],
  });
  await journal.close();
  if (state.end?.status !== "succeeded") throw new Error(`the chain ended as ${state.end?.status}`);
  return state;
}
