import { join } from "node:path";
import * as z from "zod";
import { plainProgress } from "../src/cli/terminal/progress/plain.ts";
import { createRedactor } from "../src/core/base/redact/redact.ts";
import type { JsonSchema } from "../src/core/base/values.ts";
import { linkProgram } from "../src/core/engine/decide/link.ts";
import type { RunEvent } from "../src/core/engine/event/event.ts";
import type { RunRecord } from "../src/core/engine/event/record.ts";
import type { State } from "../src/core/engine/fold/state.ts";
import type { Model, Store } from "../src/core/engine/ports.ts";
import { describeTools, type Skill, type Tool } from "../src/core/skill/skill.ts";
import { priceOf } from "../src/models/prices.ts";
import { createAsk } from "../src/run/ask.ts";
import { createCall } from "../src/run/call.ts";
import { driveRun, tell } from "../src/run/drive.ts";
import { fileBlobs } from "../src/stores/blobs.ts";

/** A run as the command line assembles it, without any latency except the executor's own. */

/** Counts work, so that no contestant wins by doing less. */
export const done = { replies: 0, looks: 0 };

const question = z.object({ service: z.string(), minutes: z.number().int().min(1) });

/** One tool whose input and output ajv checks, and whose handler checks its input with zod. */
const look: Tool = {
  name: "look",
  description: "Looks at what a service did of late.",
  input_schema: z.toJSONSchema(question) as JsonSchema,
  output_schema: {
    type: "object",
    properties: { service: { type: "string" }, errors: { type: "integer" }, lines: { type: "array" } },
    required: ["service", "errors"],
  },
  effect: "read",
  handler(input, { config }) {
    done.looks++;
    const { service, minutes } = question.parse(input);
    const lines = Array.from({ length: 5 }, (_, index) => `${config.LOOK_URL} ${service} answered 502 at ${index}`);
    return { service, errors: minutes, lines };
  },
};

const skill: Skill = {
  id: "service",
  name: "Service",
  description: "What a service does.",
  category: "observability",
  config: {},
  tools: [look],
};
const config = { LOOK_URL: "https://look.example", LOOK_TOKEN: secretOf(0) };

/** Each node is two model calls: one asks for two tool calls, the next answers. */
const model: Model = {
  provider: "instant",
  async reply({ turns }, { key }) {
    done.replies++;
    const usage = { inputTokens: 900, cachedTokens: 700, outputTokens: 60 };
    if (turns.length > 0) return { parts: [{ type: "text", text: ANSWER }], stop: "end", usage };
    const calls = ["checkout", "payment"].map((service, index) => {
      return { type: "call", id: `${key}/${index}`, tool: "service_look", input: { service, minutes: 30 } } as const;
    });
    return { parts: [{ type: "text", text: "I look at both." }, ...calls], stop: "end", usage };
  },
};
const ANSWER = JSON.stringify({ cause: "The payment service answers late since its last release.", sure: true });

/** A chain of nodes with an instruction, a skill and an output each. */
export function chainRecord(length: number): RunRecord {
  const ids = Array.from({ length }, (_, index) => `n${index}`);
  const text = "Look at what came before, and say what comes next.";
  const source = { content: text, kind: "inline", origin: text, resolver: "inline", hash: "0000000000000000" } as const;
  const output = { type: "object", properties: { cause: { type: "string" } }, required: ["cause"] };
  const node = { name: "Look", instruction: text, skills: [skill.id], output };
  const tools = describeTools(skill, skill.tools);
  const { id, name, description } = skill;
  return {
    schema: "skillflow.run/2",
    run: `chain-${length}`,
    kind: "run",
    at: new Date().toISOString(),
    workflow: {
      id: "chain",
      name: "Chain",
      entry: "n0",
      nodes: Object.fromEntries(ids.map((id) => [id, node])),
      edges: ids.slice(1).map((to, index) => ({ from: `n${index}`, to })),
    },
    input: { alert: "502 at checkout" },
    sources: Object.fromEntries(ids.map((id) => [`nodes.${id}.instruction`, source])),
    skills: [{ id, name, description, format: "module", available: true, tools }],
    settings: {
      model: "instant:model",
      judge_model: "instant:model",
      writes: "allow",
      limits: { timeout_ms: 3_600_000, max_cost_usd: 1_000_000 },
      max_turns: 50,
      tool_timeout_ms: 60_000,
      context_mode: "full",
    },
    warnings: [],
  };
}

export async function driveChain(store: Store, folder: string, length: number): Promise<State> {
  const record = chainRecord(length);
  const journal = await store.create(record);
  const redactor = createRedactor(Array.from({ length: 12 }, (_, n) => ({ name: `SECRET_${n}`, value: secretOf(n) })));
  const events: RunEvent[] = [];
  const written: string[] = [];
  const observers = [
    { onEvent: (event: RunEvent) => events.push(event) },
    plainProgress((text) => void written.splice(0, 1, text)),
  ];
  const state = await driveRun({
    program: linkProgram(record),
    journal,
    ask: createAsk({
      findModel: async (name) => ({ model, name }),
      priceOf,
      clock: { sleep: async () => undefined, random: () => 0 },
      onProgress: (node, message) => tell(observers, (each) => each.onProgress?.({ node, message })),
      onAnswering: (node, characters) => tell(observers, (each) => each.onAnswering?.({ node, characters })),
    }),
    callTool: createCall({
      run: record.run,
      findHandler: () => ({ tool: look, config }),
      timeoutMs: record.settings.tool_timeout_ms,
      workDir: folder,
      fetch,
      loggerFor: () => ({ debug: () => undefined, info: () => undefined, warn: () => undefined }),
      redactor,
      blobs: fileBlobs(join(folder, "blobs")),
    }),
    redactor,
    observers,
    signal: new AbortController().signal,
    afterwards: [],
  });
  await journal.close();
  const end = events.at(-1);
  if (state.end?.status !== "succeeded") throw new Error(`the chain ended as ${JSON.stringify(end)}`);
  return state;
}

function secretOf(n: number): string {
  return `s3cr3t-${(n + 1) * 7919}-Zq${(n + 3) * 104_729}`;
}
