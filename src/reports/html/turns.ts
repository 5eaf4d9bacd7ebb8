import { formatCost, formatCount, formatDuration, plural } from "../../core/base/preview.ts";
import { nodePath } from "../../core/document/inner/place.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import { answerText, type Part, type Prompt } from "../../core/engine/event/prompt.ts";
import { recordedPrompts } from "../../core/engine/record/recorded-prompts.ts";
import type { Account } from "../model/account.ts";
import { type Asked, durationOf, type VisitTurn } from "../model/visit.ts";
import { html, type Markup } from "./markup/markup.ts";
import { folded, type Showing, valueHtml } from "./markup/value.ts";

/** Prompts and answers, turn by turn. Text that several prompts share is on the page once. */

type Prompts = ReturnType<typeof promptsOf>;

/**
 * Renders prompts by the positions of their answers, in the run's order, because each is rebuilt from earlier events and
 * inner runs are interleaved.
 */
export function promptsOf({ record, events, every, digest }: Account): ReadonlyMap<number, Markup | undefined> {
  const rebuilt = recordedPrompts({ record, events });
  const known = new Map<string, string>();
  const before = new Map<string, Prompt>();
  const drawn = new Map<number, Markup | undefined>();
  const draw = ({ seq, purpose, answer }: Asked): Markup | undefined => {
    const event = events[seq];
    const prompt = event && promptAt(rebuilt, event);
    if (!event || !prompt) return html`<p class="cut">This version cannot rebuild the prompt.</p>`;
    const scope = `${purpose} ${nodePath(event.at, answer.node)}`;
    const last = before.get(scope);
    const goesOn = last !== undefined && isPrefix(last, prompt);
    const from = goesOn ? last.turns.length : 0;
    const differs = digest !== undefined && answer.type === "model:reply" && digest(prompt) !== answer.prompt;
    const pieces = [
      ...(goesOn ? [] : [openingHtml(prompt, known)]),
      ...prompt.turns.slice(from).flatMap((turn) => {
        if (turn.role === "user") return [sharedHtml("Next message", turn.text, known)];
        if (purpose === "work" || turn.role === "assistant") return [];
        return turn.results.map((result) => sharedHtml("Result", answerText(result), known));
      }),
    ];
    before.set(scope, prompt);
    if (pieces.length === 0 && !differs) return undefined;
    const note = differs && html`<p class="cut">As this version would ask; what was recorded is another prompt.</p>`;
    const size = goesOn ? "continued" : `${formatCount(prompt.text.length)} characters`;
    return html`<details class="fold prompt"><summary>Prompt <span class="meta">${size}</span></summary><div>${note}${pieces}</div></details>`;
  };
  const asked = every.flatMap(({ turns }) => turns.flatMap((turn) => (turn.kind === "asked" ? [turn] : [])));
  for (const turn of asked.sort((a, b) => a.seq - b.seq)) drawn.set(turn.seq, draw(turn));
  return drawn;
}

/** Returns the prompt, or undefined if it cannot be rebuilt because the recording is altered or foreign. */
function promptAt(rebuilt: ReturnType<typeof recordedPrompts>, event: RunEvent): Prompt | undefined {
  try {
    return rebuilt(event);
  } catch {
    return undefined;
  }
}

function isPrefix(before: Prompt, now: Prompt): boolean {
  if (before.text !== now.text || before.turns.length > now.turns.length) return false;
  return before.turns.every((turn, index) => turn === now.turns[index]);
}

function openingHtml(prompt: Prompt, known: Map<string, string>): Markup {
  const sections = prompt.sections ?? [{ text: prompt.text, trusted: true }];
  const isKnown = sections.every(({ text }) => known.has(text));
  const shown = sections.map(({ text, trusted }) =>
    sharedHtml(trusted ? "Instructions" : "Data, not instructions", text, known),
  );
  const { context, tools } = prompt;
  const nodes = context ? ["the run's input", ...context.entries.slice(0, context.length).map(({ node }) => node)] : [];
  const given =
    nodes.length > 0 && html`<p class="meta">With what came before: <span dir="auto">${nodes.join(", ")}</span></p>`;
  const names = tools.map(({ name }) => name).join(", ");
  const areKnown = known.has(`tools ${names}`);
  known.set(`tools ${names}`, "");
  if (isKnown && areKnown) {
    const first = known.get(sections[0]?.text ?? "");
    return html`<p class="meta">As <a href="#${first}">before</a>${nodes.length === 0 ? "" : `, with ${nodes.join(", ")}`}</p>`;
  }
  const offered =
    tools.length > 0 &&
    html`<p class="meta">Tools: ${tools.map(({ name }, index) => html`${index === 0 ? "" : ", "}<code>${name}</code>`)}</p>`;
  return html`${shown}${given}${offered}`;
}

/** Shows a text in full the first time, and later as a link to it. */
function sharedHtml(label: string, text: string, known: Map<string, string>): Markup {
  const id = known.get(text);
  const start = text.slice(0, 60).replace(/\s+/g, " ");
  if (id !== undefined)
    return html`<p class="meta">${label}: <a href="#${id}">as before</a>, <span dir="auto">“${start}…”</span></p>`;
  if (text.length < 80) return html`<h5>${label}</h5><pre dir="auto">${text}</pre>`;
  const fresh = `p${known.size + 1}`;
  known.set(text, fresh);
  return html`<h5 id="${fresh}">${label}</h5><pre dir="auto">${text}</pre>`;
}

interface TurnPage {
  readonly prompts: Prompts;
  readonly cites: Showing["cites"];
  /** Text that the visit's result already shows. */
  readonly said: string | undefined;
  readonly callsHtml: (turn: Asked) => Markup | undefined;
}

export function turnHtml(turn: VisitTurn, page: TurnPage): Markup {
  if (turn.kind !== "asked")
    return html`<li class="note ${turn.kind}"><span class="badge skipped">${NOTES[turn.kind]}</span> <div dir="auto">${folded(turn.text, html`<span class="verse">${turn.text}</span>`)}</div></li>
`;
  const { answer, purpose, model } = turn;
  const prompt = page.prompts.get(turn.seq);
  const facts = [model, formatDuration(durationOf(turn)), ...usageOf(answer)];
  const head = html`<p class="asked"><strong>${PURPOSES[purpose]}</strong> <span class="meta">${facts.join(" · ")}</span></p>`;
  return html`<li class="turn ${purpose}">${head}${prompt}${answerHtml(answer, page)}${page.callsHtml(turn)}</li>
`;
}

const NOTES = { told: "rejected", retry: "retry", limit: "limit", warning: "warning" } as const;

const PURPOSES = {
  work: "Asked",
  route: "Asked for the next node",
  judge: "Asked a judge",
  reflect: "Asked what went wrong",
} as const;

function usageOf(answer: Asked["answer"]): string[] {
  if (answer.type === "model:error") return [];
  const { usage } = answer;
  if (!usage) return ["tokens unknown"];
  const cached = usage.cachedTokens > 0 ? ` (${formatCount(usage.cachedTokens)} cached)` : "";
  return [
    `${plural(usage.inputTokens, "token")} in${cached}, ${formatCount(usage.outputTokens)} out`,
    formatCost(usage.costUsd),
  ];
}

function answerHtml(answer: Asked["answer"], { cites, said }: TurnPage): Markup {
  if (answer.type === "model:error")
    return html`<p class="complaint failed" dir="auto">${answer.message}${answer.hint ? ` (${answer.hint})` : ""}</p>`;
  const texts = answer.parts.flatMap((part) => {
    if (part.type === "text" && part.text === said) return [html`<p class="meta">Answered with the result above.</p>`];
    return partHtml(part, cites);
  });
  const stop =
    answer.stop !== "end" &&
    html`<p class="complaint skipped">${answer.stop === "length" ? "The answer was cut off." : "The model refused."}</p>`;
  return html`${texts.length > 0 && html`<div class="reply">${texts}</div>`}${stop}`;
}

function partHtml(part: Part, cites: Showing["cites"]): Markup[] {
  if (part.type === "opaque") return [html`<p class="meta">(${part.provider}'s own reasoning, kept unchanged)</p>`];
  if (part.type === "broken_call")
    return [html`<p class="complaint failed" dir="auto">a call to ${part.tool} with invalid JSON: ${part.text}</p>`];
  if (part.type === "call" || part.text.trim() === "") return [];
  // Most answers are JSON, which the visit's result shows in a readable form.
  if (!/^\s*[{[]/.test(part.text)) return [valueHtml(part.text, { cites, prose: true })];
  return [
    html`<details class="fold"><summary>The answer as it came <span class="meta">${formatCount(part.text.length)} characters of JSON</span></summary><pre dir="auto">${part.text}</pre></details>`,
  ];
}
