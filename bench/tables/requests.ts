import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startLoopback } from "../../src/testing.ts";
import { answerParts } from "../hello-service.ts";
import { type Bench, type Contestant, commonLength, succeeded } from "../measure.ts";
import type { Cell, Column } from "../results.ts";

const NODES = 10;
const SIZES = [
  ["2 KB", 2000],
  ["50 KB", 50_000],
] as const;

/** Compares what a workflow sends to its model with loops that a user would write. */
export const requests: Bench = {
  name: "requests",
  title: "What is sent to a model",
  isCounted: true,
  how: `A workflow of ${NODES} nodes. Each calls a tool once, whose result is 2 KB or 50 KB of log lines, and answers in a sentence; the requests of our
program are those that arrive at a provider on this machine. The first loop is one conversation, in which everything is passed on. The second begins
anew at each node, and passes on what the nodes before answered. With us a node sees the answers of those before it; a result of more
than 32,768 characters stands in its own node's prompt with head and tail only (*blobs*), and each result can be read again by its reference:
*reads on* is with a call of \`read_result\` at each node, for the result of the one before. Tokens are tools and messages at four characters
each. *paid* counts what a request has in common with the one before it, from its beginning, at a tenth: what providers ask for what they have cached.`,
  async measure() {
    const rows = await Promise.all(
      CONTESTANTS.map(async ({ send, ...row }) => {
        const cells: Record<string, Cell> = {};
        for (const [size, length] of SIZES) Object.assign(cells, cellsOf(size, await send(resultOf(length))));
        return { ...row, cells };
      }),
    );
    return { columns: COLUMNS, rows, rounds: 1 };
  },
};

const COLUMNS: readonly Column[] = SIZES.flatMap(([size]) => [
  { name: `${size}: requests`, unit: "", better: "less" },
  { name: `${size}: sent`, unit: "bytes", better: "less" },
  { name: `${size}: tokens`, unit: "", better: "less" },
  { name: `${size}: paid`, unit: "", better: "less" },
]);

interface Sender extends Contestant {
  /** The bodies of all requests, where each tool call is answered with this. */
  readonly send: (result: string) => Promise<readonly Body[]>;
}

interface Body {
  readonly messages: readonly Message[];
  readonly tools?: readonly unknown[];
}

interface Message {
  readonly role: string;
  readonly content?: string | null;
  readonly tool_calls?: readonly unknown[];
}

const CONTESTANTS: readonly Sender[] = [
  { name: "a loop that passes everything on", kind: "peer", send: async (result) => loop(result, true) },
  { name: "a loop that passes answers on", kind: "peer", send: async (result) => loop(result, false) },
  { name: "skillflow", kind: "ours", send: (result) => ours(result, false) },
  { name: "skillflow, each node reads on", kind: "ours", group: "reads on", send: (result) => ours(result, true) },
];

const ANSWER = "The payment service answers late since its last release.";
const INSTRUCTION = "Look at what came before, and say what comes next.";
const LINE = "2026-11-22T21:00:00Z ERROR service=checkout path=/orders/17 status=502 duration_ms=977\n";

function resultOf(length: number): string {
  return LINE.repeat(Math.ceil(length / LINE.length)).slice(0, length);
}

function loop(result: string, passesAll: boolean): readonly Body[] {
  const bodies: Body[] = [];
  const look = { name: "big_look", description: DESCRIPTION, parameters: { type: "object", properties: {} } };
  const tools = [{ type: "function", function: look }];
  let messages: readonly Message[] = [];
  for (let node = 0; node < NODES; node++) {
    const before = passesAll ? "" : `\n\nSo far:\n${`${ANSWER}\n`.repeat(node)}`;
    const asked = [...(passesAll ? messages : []), { role: "user", content: INSTRUCTION + before }];
    const called = [...asked, { role: "assistant", content: null, tool_calls: [callOf("big_look", {}, node)] }];
    const told = [...called, { role: "tool", tool_call_id: `call-${node}`, content: JSON.stringify({ text: result }) }];
    bodies.push({ messages: asked, tools }, { messages: told, tools });
    messages = [...told, { role: "assistant", content: ANSWER }];
  }
  return bodies;
}

function callOf(name: string, input: unknown, index: number) {
  return { index: 0, id: `call-${index}`, type: "function", function: { name, arguments: JSON.stringify(input) } };
}

const DESCRIPTION = "Looks at what a service did of late.";

/** Measures what the built program sends to a model that calls the tool once at each node, and optionally reads on first. */
async function ours(result: string, readsOn: boolean): Promise<readonly Body[]> {
  const folder = mkdtempSync(join(tmpdir(), "bench-requests-"));
  const bodies: Body[] = [];
  let last = "";
  const service = await startLoopback(({ body: text }, response) => {
    const body = JSON.parse(text) as Body;
    bodies.push(body);
    const answers = body.messages.filter(({ role }) => role === "tool");
    const wanted = readsOn && last !== "" ? ["read_result", "big_look"] : ["big_look"];
    if (answers.length === wanted.length) last = /\[(r\d+)\]/.exec(answers.at(-1)?.content ?? "")?.[1] ?? "";
    const name = answers.length < wanted.length ? wanted[answers.length] : undefined;
    const call = name && callOf(name, name === "read_result" ? { ref: last } : {}, bodies.length);
    answerParts(response, call ? { tool_calls: [call] } : { content: ANSWER }, call ? "tool_calls" : "stop");
  });
  try {
    write(folder, "skills/big/skill.mjs", skillOf(result));
    write(folder, "flow.json", JSON.stringify(flow()));
    const args = ["run", "flow.json", "--model", "openai-compatible:m", "--trust-skill", "big"];
    await succeeded([resolve("dist/bin.js"), ...args], { cwd: folder, env: { OPENAI_BASE_URL: service.url } });
    return bodies;
  } finally {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function write(folder: string, path: string, text: string): void {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function skillOf(result: string): string {
  const tool = {
    name: "look",
    description: DESCRIPTION,
    input_schema: { type: "object", properties: {} },
    effect: "read",
  };
  const text = JSON.stringify({ text: result });
  return `const handler = () => (${text});
export default { id: "big", name: "Big", description: "What a service does.", category: "general", config: {},
  tools: [{ ...${JSON.stringify(tool)}, handler }] };\n`;
}

function flow() {
  const ids = Array.from({ length: NODES }, (_, index) => `n${index}`);
  const node = (name: string) => ({ name, instruction: INSTRUCTION, skills: ["big"] });
  return {
    id: "flow",
    name: "Flow",
    entry: "n0",
    nodes: Object.fromEntries(ids.map((id) => [id, node(id)])),
    edges: ids.slice(1).map((to, index) => ({ from: `n${index}`, to })),
  };
}

function cellsOf(size: string, bodies: readonly Body[]): Record<string, Cell> {
  const texts = bodies.map(({ tools, messages }) =>
    [...(tools ?? []), ...messages].map((part) => JSON.stringify(part)).join("\n"),
  );
  const tokens = texts.map((text) => text.length / 4);
  const paid = texts.map((text, index) => (text.length - 0.9 * commonLength(text, texts[index - 1] ?? "")) / 4);
  const sum = (numbers: readonly number[]): Cell => [Math.round(numbers.reduce((total, number) => total + number, 0))];
  return {
    [`${size}: requests`]: [bodies.length],
    [`${size}: sent`]: sum(bodies.map((body) => Buffer.byteLength(JSON.stringify(body)))),
    [`${size}: tokens`]: sum(tokens),
    [`${size}: paid`]: sum(paid),
  };
}
