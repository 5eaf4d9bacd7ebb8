import type { ShownImage } from "../../base/image.ts";
import {
  type Fitting,
  isObject,
  type Json,
  type JsonObject,
  type JsonSchema,
  jsonOnce,
  mapped,
} from "../../base/values.ts";
import type { contextEntrySchema, shownResultSchema } from "./record.ts";
import type { CallUsage, part } from "./reply.ts";

/** A prompt: an opening that stays the same during a node, then the turns so far. */
export interface Prompt {
  readonly text: string;
  /** Parts of the text, if only some of it is trusted. */
  readonly sections?: readonly Section[];
  /** The run's context, which follows the sections. Rendered only when sent. */
  readonly context?: RunContext;
  readonly turns: readonly Turn[];
  readonly tools: readonly { readonly name: string; readonly description: string; readonly input_schema: JsonSchema }[];
  readonly output?: JsonSchema;
}

/** A part of a prompt. Instructions by the authors of the workflow and its skills are trusted. Evidence never is. */
export interface Section {
  readonly text: string;
  readonly trusted: boolean;
}

/** A prompt that differs from the one recorded at the same step. */
export interface ChangedPrompt {
  readonly key: string;
  readonly node: string;
  /** Undefined if this version can no longer rebuild the prompt. */
  readonly recorded: Prompt | undefined;
  readonly now: Prompt;
}

export type Turn =
  | { readonly role: "assistant"; readonly parts: readonly Part[] }
  | { readonly role: "tools"; readonly results: readonly ToolAnswer[] }
  | { readonly role: "user"; readonly text: string; readonly images?: readonly ShownImage[] };

export interface ToolAnswer {
  /** The id of the call part that this answers. */
  readonly id: string;
  /** The reference of the result, shown before it: `[r7]`. */
  readonly ref?: string;
  readonly output: Json;
  /** Images in the output, for models with vision. `ModelCall.image` returns their bytes. */
  readonly images?: readonly ShownImage[];
  readonly failed: boolean;
}

/** Formats a result for the model, without its reference: strings unchanged, other values as JSON. */
export function resultText(output: Json): string {
  return typeof output === "string" ? output : JSON.stringify(output);
}

/** Converts the turns to text for the final answer of a model that must not call more tools. */
export function closingTurns(turns: readonly Turn[], most: number): readonly Turn[] {
  const texts = turns.map((turn): Turn => {
    if (turn.role === "user") return turn;
    if (turn.role === "tools") {
      const images = turn.results.flatMap((result) => result.images ?? []);
      const text = turn.results.map(answerText).join("\n\n");
      return { role: "user", text, ...(images.length > 0 ? { images } : {}) };
    }
    return {
      role: "assistant",
      parts: turn.parts.flatMap((part) => (part.type === "opaque" ? [] : [{ type: "text", text: partText(part) }])),
    };
  });
  const text = `The limit of ${most} turns is reached. You cannot call tools anymore. Give your answer now, based on the results you have.`;
  return [...texts, { role: "user", text }];
}

function partText(part: Exclude<Part, { type: "opaque" }>): string {
  if (part.type === "text") return part.text;
  return `(called ${part.tool} with ${part.type === "call" ? JSON.stringify(part.input) : part.text})`;
}

/** Formats a tool's answer for the model: its reference, then its result. */
export function answerText({ ref, output }: Pick<ToolAnswer, "ref" | "output">): string {
  return `${ref === undefined ? "" : `[${ref}]\n`}${resultText(output)}`;
}

export function imagesIn(turns: readonly Turn[]): readonly ShownImage[] {
  return turns.flatMap((turn) => {
    if (turn.role === "tools") return turn.results.flatMap(({ images = [] }) => images);
    return (turn.role === "user" && turn.images) || [];
  });
}

/**
 * A part of a reply. A broken call has arguments that are not valid JSON, in `text`. Opaque parts belong to a provider,
 * such as signed reasoning, and are sent back unchanged.
 */
export type Part = Fitting<typeof part>;

export interface Usage extends Readonly<Omit<CallUsage, "costUsd">> {
  /** Input tokens written to the provider's cache, if writing costs more than reading. */
  readonly cacheWriteTokens?: number;
}

export interface Reply {
  readonly parts: readonly Part[];
  /** Why the reply ended: it is complete or asks for tool calls, hit the length limit, or was refused. */
  readonly stop: "end" | "length" | "refusal";
  /** Null if the provider did not report usage. */
  readonly usage: Usage | null;
}

/** The run's context, `{input, <node>: data, …}`. A view of a growing list: only the first `length` entries count. */
export interface RunContext {
  readonly input: JsonObject;
  readonly entries: readonly ContextEntry[];
  readonly length: number;
}

/**
 * Data of a node in the run's context, with the results that its claims cite (`r7 (ops_logs)`) and the claims that were
 * removed from it. `results` are those of a `steps` node, which `data` leaves out. `made`: results of the steps inside it.
 */
export type ContextEntry = Fitting<typeof contextEntrySchema>;

/** Result of a step. `ref` is absent for a call that was not started or repeats another one. */
export type ShownResult = Fitting<typeof shownResultSchema>;

export function sectioned(sections: readonly Section[]): Pick<Prompt, "text" | "sections"> {
  return { text: joinTexts(sections), sections };
}

/** The opening of a prompt, for providers that separate instructions from messages. */
export interface Opening {
  /** Empty if the prompt has only instructions. They are then sent as the message. */
  readonly instructions: string;
  readonly messages: readonly string[];
}

/** Makes trusted sections the instructions. The rest and the context go into the first user message. */
export function openingOf(prompt: Prompt): Opening {
  const texts = openingTexts(prompt);
  const [, context] = texts;
  const trusted = (prompt.sections ?? []).filter((section) => section.trusted);
  const others = (prompt.sections ?? []).filter((section) => !section.trusted);
  const messages = [...(others.length > 0 ? [joinTexts(others)] : []), ...(context === undefined ? [] : [context])];
  if (trusted.length === 0 || messages.length === 0) return { instructions: "", messages: texts };
  return { instructions: joinTexts(trusted), messages };
}

function joinTexts(sections: readonly Section[]): string {
  return mapped(sections, ({ text }) => text).join("\n\n---\n\n");
}

/** Returns the texts at the start of a prompt: the sections, then the run's context unless it is empty. */
export function openingTexts(prompt: Prompt): readonly string[] {
  const context = prompt.context ? renderContext(prompt.context) : "";
  return context === "" ? [prompt.text] : [prompt.text, context];
}

const rendered = new WeakMap<RunContext, string>();

/** Formats the run's context once for all prompts of a visit. Empty if there is no input and no completed node. */
export function renderContext(context: RunContext): string {
  const text = rendered.get(context) ?? renderOnce(context);
  rendered.set(context, text);
  return text;
}

function renderOnce(context: RunContext): string {
  if (context.length === 0 && Object.keys(context.input).length === 0) return "";
  const blocks: string[] = [];
  let lines = [`"input": ${jsonOnce(shownInput(context.input))}`];
  const close = () => {
    if (lines.length > 0) blocks.push(`{\n${lines.join(",\n")}\n}`);
    lines = [];
  };
  const entries = context.entries.slice(0, context.length);
  for (const { node, data, results } of entries) {
    if (!results || Object.keys(data).length > 0) lines.push(`${JSON.stringify(node)}: ${jsonOnce(data)}`);
    if (!results || results.length === 0) continue;
    close();
    blocks.push(`Results of the steps of ${JSON.stringify(node)}:`, ...results.map(shownResult));
  }
  close();
  const intro = "The input of this run and the results of the nodes that ran before this one.";
  const opening = ["## Run Context", intro, ...blocks].join("\n\n");
  const marked = entries.filter(({ cited, made, dropped }) => cited ?? made ?? dropped);
  return [opening, ...citedLines(marked), ...droppedLines(marked)].join("\n");
}

/**
 * Leaves out the node results of the earlier run that `--from-run` gave, because its finding has what they showed and they
 * are many times as long, and the texts that repeat the finding. Templates and conditions still see them.
 */
function shownInput(input: JsonObject): JsonObject {
  if (!isObject(input.run)) return input;
  const { results, ...run } = input.run as JsonObject;
  if (!isObject(results) || !isObject(run.finding)) return input;
  const { markdown: _, title: __, ...finding } = run.finding as JsonObject;
  return { ...input, run: { ...run, finding } };
}

/** Formats a step's result. Text is fenced, so that it cannot look like the result of another step. */
function shownResult({ ref, step, tool, text, shortened }: ShownResult): string {
  const runs = text.match(/`{3,}/g) ?? [];
  const fence = runs.reduce((longest, run) => (run.length < longest.length ? longest : `${run}\``), "```");
  const head = `${ref === undefined ? "" : `[${ref}] `}${step}: ${tool}${shortened ? " (shortened)" : ""}`;
  return [head, ...(text.includes("\n") ? [fence, text, fence] : [text])].join("\n");
}

const MOST_CITED = 50;

function citedLines(entries: readonly ContextEntry[]): string[] {
  const listed = (before: string, refs: readonly string[]) => {
    const left = refs.length - MOST_CITED;
    const more = left > 0 ? [`${left} more`] : [];
    return refs.length === 0 ? [] : [`${before}: ${[...refs.slice(0, MOST_CITED), ...more].join(", ")}`];
  };
  const lines = entries.flatMap(({ node, cited = [], made = [] }) => {
    const name = JSON.stringify(node);
    return [...listed(`Results inside ${name}`, made), ...listed(`${name} cited`, cited)];
  });
  return lines.length === 0 ? [] : ["", ...lines];
}

const MOST_DROPPED = 20;

function droppedLines(entries: readonly ContextEntry[]): string[] {
  return entries.flatMap(({ node, dropped = [] }) => {
    if (dropped.length === 0) return [];
    const lines = dropped.slice(0, MOST_DROPPED).map(({ claim, reason }) => `- ${claim} — ${reason}`);
    const left = dropped.length - lines.length;
    const more = left > 0 ? [`- and ${left} more`] : [];
    return ["", `Claims that were removed from ${JSON.stringify(node)}, with the reason:`, ...lines, ...more];
  });
}

export function textOf(parts: readonly Part[]): string {
  return mapped(parts, (part) => (part.type === "text" ? part.text : "")).join("");
}
