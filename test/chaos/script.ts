import type { ChatRequest } from "../services/chat.ts";
import type { Scripted, ScriptedCall } from "../services/script.ts";
import { numberOf } from "./dice.ts";

/** A model's task at a node. It is in the node's instruction, so that the prompt alone decides. */
export interface NodeScript {
  /** Calls of each turn, as `TOOL TEXT`; `TEXT` gets the item's name, where there is one. */
  readonly turns: readonly (readonly string[])[];
  /** The answers after them. The second one follows if the first was refused. */
  readonly answers: readonly Answer[];
  /** The script of later attempts. */
  readonly again?: NodeScript;
}

/** `claims` cites what was read; `item` has the number of the item as its `x`. */
export type Answer = string | { readonly x: number } | "claims" | "item";

const OPEN = "⟦";
const CLOSE = "⟧";

export function instructionOf(node: string, script: NodeScript): string {
  return `You are at ${node}. ${OPEN}${JSON.stringify(script)}${CLOSE}`;
}

/** A rubric that states which verdict a judge must give. */
export function rubricOf(verdict: "yes" | "no"): string {
  return `It is good. ${OPEN}${verdict}${CLOSE}`;
}

/** The answer of a model without memory: the same prompt always gives the same answer. */
export function answerOf({ messages }: ChatRequest): Scripted {
  const first = messages.findIndex(({ role }) => role === "assistant");
  const opening = messages
    .slice(0, first < 0 ? undefined : first)
    .map(({ content }) => content ?? "")
    .join("\n\n");
  const choices = [...opening.matchAll(/^- (\S+): (.*)$/gm)];
  if (opening.includes("Choices:\n")) return chosen(choices.map(([, id = "", what = ""]) => ({ id, what })));
  const [, told] = new RegExp(`${OPEN}(.*?)${CLOSE}`, "s").exec(opening) ?? [];
  if (told === undefined) throw new Error(`nothing says what to answer: ${opening.slice(0, 2000)}`);
  if (told === "yes" || told === "no") return { text: `VERDICT: ${told}\nREASONING: so it is` };
  if (/^## Failures/m.test(opening)) return { text: "Do it better the next time." };
  const whole = JSON.parse(told) as NodeScript;
  const script = opening.includes("## Your previous attempt") ? (whole.again ?? whole) : whole;
  return turnOf(script, messages, itemIn(opening));
}

function chosen(choices: readonly { readonly id: string; readonly what: string }[]): Scripted {
  const ranked = choices.toSorted((one, other) => numberOf(one.id + one.what) - numberOf(other.id + other.what));
  return { text: JSON.stringify({ reason: "it is due", choice: ranked[0]?.id }) };
}

/** The item that an inner run is about. */
function itemIn(opening: string): string {
  return /"it": ?\{"id": ?"(\w+)"/.exec(opening)?.[1] ?? "";
}

function turnOf(script: NodeScript, messages: ChatRequest["messages"], item: string): Scripted {
  const turns = messages.filter(({ role }) => role === "assistant").length;
  const calls = script.turns[turns];
  const isClosing = messages.some(({ content }) => content?.startsWith("The limit of ") ?? false);
  if (calls && !isClosing) return { calls: calls.map((call) => callOf(call, messages, item)) };
  const answer = script.answers[Math.min(Math.max(turns - script.turns.length, 0), script.answers.length - 1)] ?? "";
  if (answer === "claims") return { text: JSON.stringify({ claims: claimsFrom(messages) }) };
  if (answer === "item") return { text: JSON.stringify({ x: Number(item.replace(/\D/g, "")) }) };
  return { text: typeof answer === "string" ? answer : JSON.stringify(answer) };
}

function callOf(call: string, messages: ChatRequest["messages"], item: string): ScriptedCall {
  const [tool = "", about = ""] = call.split(" ");
  const text = item === "" ? about : `${about}.${item}`;
  if (tool === "state_put") return { tool, input: { key: text, data: { noted: text } } };
  if (tool === "state_get") return { tool, input: { key: text } };
  if (tool !== "read_blob") return { tool, input: { text } };
  const said = messages.map(({ content }) => content ?? "").join("\n");
  return { tool, input: { blob_id: /blob:[0-9a-f]{32}/.exec(said)?.[0] ?? "", offset: 100 } };
}

/** A claim for each result, and one that nothing supports. */
function claimsFrom(messages: ChatRequest["messages"]) {
  const results = messages.filter(({ role }) => role === "tool").map(({ content }) => content ?? "");
  const cites = results.flatMap((content) => {
    const [, ref, quote] = /^\[([^\]]+)\]\n[\s\S]*?(was seen at [\w.-]+)/.exec(content) ?? [];
    return ref === undefined || quote === undefined ? [] : [{ ref, quote }];
  });
  return [
    ...cites.map((cite) => ({ claim: cite.quote, evidence: [cite] })),
    { claim: "nothing", evidence: [{ ref: "r1", quote: "was never seen anywhere" }] },
  ];
}
