import { readFileSync } from "node:fs";
import { next } from "../../src/core/engine/decide/interpreter.ts";
import { linkProgram } from "../../src/core/engine/decide/link.ts";
import type { RunEvent } from "../../src/core/engine/event/event.ts";
import { openingOf, type Prompt } from "../../src/core/engine/event/prompt.ts";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import { fold } from "../../src/core/engine/fold/fold.ts";
import { begin, type State } from "../../src/core/engine/fold/state.ts";
import { type Bench, commonLength } from "../measure.ts";
import type { Column, Row } from "../results.ts";

type ReplyEvent = Extract<RunEvent, { readonly type: "model:reply" }>;

interface Request {
  readonly node: string;
  readonly tokens: number;
  /** Tokens at the start that the previous request had as well. */
  readonly repeated: number;
}

/** The tokens that the recorded triage sends, node by node. */
export const tokens: Bench = {
  name: "tokens",
  title: "What the triage sends",
  isCounted: true,
  how: `The requests of the triage that comes along, as it was recorded, at four characters a token. Cacheable is what a request has in
common with the one before it, from its beginning, in the order in which providers look for it: tools, instructions, messages.`,
  async measure() {
    const lines = readFileSync("workflows/incident-triage.run.jsonl", "utf8").trim().split("\n");
    const [record, ...events] = lines.map((line) => JSON.parse(line) as unknown);
    const requests = measureAll(promptsOf(record as RunRecord, events as RunEvent[]));
    const nodes = [...new Set(requests.map(({ node }) => node))];
    const rows = nodes.map((node) => [node, requests.filter((request) => request.node === node)] as const);
    const replies = events.filter((event) => (event as RunEvent).type === "model:reply") as ReplyEvent[];
    const answered = replies.reduce((sum, { parts }) => sum + JSON.stringify(parts).length / 4, 0);
    const kept = {
      answered: [Math.round(answered)],
      records: [lines.length],
      recorded: [lines.join("\n").length / 1000],
    };
    const all = tokenRow(["all nodes", requests]);
    return { columns: COLUMNS, rows: [...rows.map(tokenRow), { ...all, cells: { ...all.cells, ...kept } }], rounds: 1 };
  },
};

const COLUMNS: readonly Column[] = [
  { name: "requests", unit: "", better: "neither" },
  { name: "tokens", unit: "", better: "neither" },
  { name: "cacheable", unit: "%", better: "neither" },
  { name: "answered", unit: "tokens", better: "neither" },
  { name: "records", unit: "", better: "neither" },
  { name: "recorded", unit: "KB", better: "neither" },
];

function tokenRow([name, requests]: readonly [string, readonly Request[]]): Row {
  const sum = (key: "tokens" | "repeated") => requests.reduce((total, request) => total + request[key], 0);
  const cacheable = Math.round((100 * sum("repeated")) / sum("tokens"));
  const sent = { requests: [requests.length], tokens: [sum("tokens")], cacheable: [cacheable] };
  return { name, kind: "ours", cells: { ...sent, answered: "–", records: "–", recorded: "–" } };
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

function measureAll(asked: readonly { readonly node: string; readonly prompt: Prompt }[]): Request[] {
  const sent = asked.map(({ prompt }) => textOf(prompt));
  return asked.map(({ node }, index) => {
    const text = sent[index] ?? "";
    const repeated = commonLength(text, sent[index - 1] ?? "");
    return { node, tokens: Math.round(text.length / 4), repeated: Math.round(repeated / 4) };
  });
}

/** In the order in which providers look up cached parts: tools, instructions, messages. */
function textOf(prompt: Prompt): string {
  const { instructions, messages } = openingOf(prompt);
  const parts = [...prompt.tools, instructions, ...messages, ...prompt.turns];
  return parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join("\n");
}

function at(state: State, epoch: number): State {
  state.run.epoch = epoch;
  return state;
}
