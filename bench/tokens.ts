import { readFileSync } from "node:fs";
import { fold } from "../src/core/engine/fold.ts";
import { next } from "../src/core/engine/interpreter.ts";
import { linkProgram } from "../src/core/engine/link.ts";
import { begin, type State } from "../src/core/engine/state.ts";
import type { RunEvent, RunRecord } from "../src/core/event.ts";
import { openingOf, type Prompt } from "../src/core/prompt.ts";
import type { BenchRow } from "./measure.ts";

interface Request {
  readonly node: string;
  readonly tokens: number;
  /** Of these, what the request before began with too. */
  readonly repeated: number;
}

/** The tokens that the recorded triage sends, node by node, at four characters a token. */
export function benchTokens(): readonly BenchRow[] {
  const lines = readFileSync("workflows/incident-triage.run.jsonl", "utf8").trim().split("\n");
  const [record, ...events] = lines.map((line) => JSON.parse(line) as unknown);
  const requests = measure(promptsOf(record as RunRecord, events as RunEvent[]));
  const nodes = [...new Set(requests.map(({ node }) => node))];
  const rows = nodes.map((node) => [node, requests.filter((request) => request.node === node)] as const);
  return [...rows, ["all nodes", requests] as const].map(([name, of]) => tokenRow(name, of));
}

function tokenRow(name: string, requests: readonly Request[]): BenchRow {
  const sum = (key: "tokens" | "repeated") => requests.reduce((total, request) => total + request[key], 0);
  const cacheable = Math.round((100 * sum("repeated")) / sum("tokens"));
  const value = `${sum("tokens").toLocaleString("en")} tokens, ${cacheable} % cacheable`;
  const count = requests.length === 1 ? "1 request" : `${requests.length} requests`;
  return { name: `triage: ${name}, ${count}`, value, target: "–", ratio: undefined };
}

/** Each request in its order, and the node that asked. */
function promptsOf(record: RunRecord, events: readonly RunEvent[]) {
  const program = linkProgram(record);
  let state = begin(record);
  return events.flatMap((event) => {
    const step = event.type === "model:reply" ? next(program, at(state, event.epoch)) : undefined;
    state = fold(state, event);
    return event.type === "model:reply" && step?.kind === "ask" ? [{ node: event.node, prompt: step.prompt }] : [];
  });
}

function measure(asked: readonly { readonly node: string; readonly prompt: Prompt }[]): Request[] {
  const sent = asked.map(({ prompt }) => textOf(prompt));
  return asked.map(({ node }, index) => {
    const text = sent[index] ?? "";
    const repeated = commonLength(text, sent[index - 1] ?? "");
    return { node, tokens: Math.round(text.length / 4), repeated: Math.round(repeated / 4) };
  });
}

/** In the order in which providers look for what they know: tools, instructions, messages. */
function textOf(prompt: Prompt): string {
  const { instructions, messages } = openingOf(prompt);
  const parts = [...prompt.tools, instructions, ...messages, ...prompt.turns];
  return parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join("\n");
}

function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}

function at(state: State, epoch: number): State {
  state.run.epoch = epoch;
  return state;
}
