import type { ShownImage } from "../../base/image.ts";
import { type Json, type JsonObject, type JsonSchema, jsonOnce } from "../../base/values.ts";

/** What a model is asked: an opening that never changes during a node, then the turns so far. */
export interface Prompt {
  /** The assembled sections (workflow-format N4), whole and in their order. */
  readonly text: string;
  /** The same in parts, where some of it is trusted and some is not. */
  readonly sections?: readonly Section[];
  /** The run's context (N2, D47), which comes after the sections. Rendered only when sent. */
  readonly context?: RunContext;
  readonly turns: readonly Turn[];
  readonly tools: readonly ToolOffer[];
  /** Structured output is requested in this shape (N11). */
  readonly output?: JsonSchema;
}

/** A part of a prompt; what the workflow's and the skills' authors wrote as orders is trusted, evidence never is. */
export interface Section {
  readonly text: string;
  readonly trusted: boolean;
}

/** A prompt that differs from the one recorded at the same step. */
export interface ChangedPrompt {
  readonly key: string;
  readonly node: string;
  /** Undefined where this version can no longer rebuild it. */
  readonly recorded: Prompt | undefined;
  readonly now: Prompt;
}

interface ToolOffer {
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonSchema;
}

export type Turn =
  | { readonly role: "assistant"; readonly parts: readonly Part[] }
  | { readonly role: "tools"; readonly results: readonly ToolAnswer[] }
  | { readonly role: "user"; readonly text: string; readonly images?: readonly ShownImage[] };

export interface ToolAnswer {
  /** The id of the call part that this answers. */
  readonly id: string;
  /** The reference of the result, which the model reads before it: `[r7]`. */
  readonly ref?: string;
  readonly output: Json;
  /** Of the output, for a model that sees: `ModelCall.image` gives their bytes. */
  readonly images?: readonly ShownImage[];
  readonly failed: boolean;
}

/** A result as a model reads it, without its reference: a text as it is, another value as JSON. */
export function resultText(output: Json): string {
  return typeof output === "string" ? output : JSON.stringify(output);
}

/** The turns as texts, for a model that may call no tool any more and is to answer (workflow-format D66). */
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
  const text = `The limit of ${most} turns is reached: no tool can be called any more. Give your answer now, from what you have.`;
  return [...texts, { role: "user", text }];
}

function partText(part: Exclude<Part, { type: "opaque" }>): string {
  if (part.type === "text") return part.text;
  return `(called ${part.tool} with ${part.type === "call" ? JSON.stringify(part.input) : part.text})`;
}

/** A tool's answer as a model reads it: its reference, then its result. */
export function answerText({ ref, output }: Pick<ToolAnswer, "ref" | "output">): string {
  return `${ref === undefined ? "" : `[${ref}]\n`}${resultText(output)}`;
}

/** What of a prompt's turns a model that sees is shown, in their order. */
export function imagesIn(turns: readonly Turn[]): readonly ShownImage[] {
  return turns.flatMap((turn) => {
    if (turn.role === "tools") return turn.results.flatMap(({ images = [] }) => images);
    return (turn.role === "user" && turn.images) || [];
  });
}

/** A piece of a reply, in order. Opaque parts belong to a provider (signed reasoning) and are sent back as they came. */
export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "call"; readonly id: string; readonly tool: string; readonly input: Json }
  /** A call whose arguments were no JSON; `text` is what came. */
  | { readonly type: "broken_call"; readonly id: string; readonly tool: string; readonly text: string }
  | { readonly type: "opaque"; readonly provider: string; readonly value: Json };

export interface Usage {
  /** All input tokens, cached ones included. */
  readonly inputTokens: number;
  readonly cachedTokens: number;
  /** Input tokens that were put into the provider's cache, where that costs more than reading them. */
  readonly cacheWriteTokens?: number;
  readonly outputTokens: number;
}

export interface Reply {
  readonly parts: readonly Part[];
  /** Why it ended: it was done (or wants its calls answered), hit the provider's length limit, or was refused. */
  readonly stop: "end" | "length" | "refusal";
  /** Null when the provider told none. */
  readonly usage: Usage | null;
}

/** `{input, <node>: data, …}` (N2), each value rendered once. A view of a growing list: only `length` entries count. */
export interface RunContext {
  readonly input: JsonObject;
  readonly entries: readonly ContextEntry[];
  readonly length: number;
}

export interface ContextEntry {
  readonly node: string;
  readonly data: JsonObject;
  /** The results that its claims rest on: `r7 (ops_logs)` (extensions G11). */
  readonly cited?: readonly string[];
}

/** A prompt's text and its sections. */
export function sectioned(sections: readonly Section[]): Pick<Prompt, "text" | "sections"> {
  return { text: joinTexts(sections), sections };
}

/** What a prompt begins with, for a provider that keeps instructions apart from messages. */
export interface Opening {
  /** Empty where there is nothing but instructions: then they are the message. */
  readonly instructions: string;
  readonly messages: readonly string[];
}

/** Trusted sections are instructions; the others, and the run's context, stay in the first user message. */
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
  return joinSections(sections.map(({ text }) => text));
}

/** The texts that a prompt begins with: the assembled sections, then the run's context unless it is empty (D47). */
export function openingTexts(prompt: Prompt): readonly string[] {
  const context = prompt.context ? renderContext(prompt.context) : "";
  return context === "" ? [prompt.text] : [prompt.text, context];
}

/** The run's context as text; empty while there is neither input nor a completed node. */
export function renderContext(context: RunContext): string {
  if (context.length === 0 && Object.keys(context.input).length === 0) return "";
  const lines = [`"input": ${jsonOnce(context.input)}`];
  for (const entry of context.entries.slice(0, context.length)) {
    lines.push(`${JSON.stringify(entry.node)}: ${jsonOnce(entry.data)}`);
  }
  const text = `## Run Context\n\nThe input of this run and the results of the nodes before this one.\n\n{\n${lines.join(",\n")}\n}`;
  return [text, ...citedLines(context)].join("\n");
}

const MOST_CITED = 50;

function citedLines({ entries, length }: RunContext): string[] {
  const lines = entries.slice(0, length).flatMap(({ node, cited = [] }) => {
    if (cited.length === 0) return [];
    const left = cited.length - MOST_CITED;
    const more = left > 0 ? [`${left} more`] : [];
    return [`${JSON.stringify(node)} cited: ${[...cited.slice(0, MOST_CITED), ...more].join(", ")}`];
  });
  return lines.length === 0 ? [] : ["", ...lines];
}

/** The text parts of a reply, joined. */
export function textOf(parts: readonly Part[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** Joins sections as every prompt does (D35). */
export function joinSections(sections: readonly string[]): string {
  return sections.join("\n\n---\n\n");
}
