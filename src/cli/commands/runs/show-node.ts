import type { NodeVisits } from "../../../app/runs/inspect.ts";
import { plainLine, plainText } from "../../../core/base/inert.ts";
import { firstOf, formatCost, formatCount, formatDuration, plural } from "../../../core/base/preview.ts";
import type { Json } from "../../../core/base/values.ts";
import { answerText, type Part, type Turn } from "../../../core/engine/event/prompt.ts";
import { failedFirst } from "../../../reports/model/items.ts";
import type { Flags, Io } from "../../io.ts";
import { describeData, painter, printJson, screenOf } from "../../terminal/terminal.ts";
import { markOf } from "../../terminal/verdict.ts";

export async function showNode(io: Io, found: NodeVisits, flags: Flags): Promise<number> {
  if (flags.json === true) return printJson(io, found);
  const view = viewOf(io, flags);
  for (const visit of found.visits) await io.outText(`${describeVisit(found, visit, view).join("\n")}\n`);
  return 0;
}

/** Longest prompt, reply or result shown without --verbose. */
const MOST_TEXT = 4000;

type View = ReturnType<typeof viewOf>;

function viewOf(io: Io, flags: Flags) {
  return { ...screenOf(io, painter(io, flags)), most: flags.verbose === true ? Number.POSITIVE_INFINITY : MOST_TEXT };
}

type Visit = NodeVisits["visits"][number];
type Ask = Visit["asks"][number];
type Call = Visit["calls"][number];

function describeVisit({ node, name }: NodeVisits, visit: Visit, view: View): string[] {
  const { paint } = view;
  const { status } = visit;
  const word = status === "success" ? "succeeded" : status === "active" ? "not finished" : status;
  const [format, mark] = markOf(word);
  const { modelCalls, inputTokens, cachedTokens, outputTokens, costUsd } = visit.usage;
  const facts = [
    formatDuration(visit.durationMs),
    plural(modelCalls, "model call"),
    `${plural(inputTokens, "token")} in (${formatCount(cachedTokens)} cached), ${formatCount(outputTokens)} out`,
    costWords(costUsd),
  ];
  return [
    `${paint("bold", plainLine(name))} ${paint("dim", `· ${plainLine(node)}#${visit.visit} ·`)} ${paint(format, `${mark} ${word}`)}`,
    `  ${paint("dim", facts.join(" · "))}`,
    "",
    ...[...visit.asks, ...visit.calls]
      .sort((a, b) => a.seq - b.seq)
      .flatMap((step) => ("purpose" in step ? describeAsk(step, view) : describeCall(step, view))),
    ...visit.remarks.map(({ kind, text }) => `  ${paint("yellow", `! ${kind}:`)} ${plainLine(text)}`),
    ...visit.retries.map(({ attempt, reason }) => `  ${paint("yellow", `↻ retry ${attempt}:`)} ${plainLine(reason)}`),
    ...describeInside(visit, view),
    ...describeOutcome(visit, view),
  ];
}

const MOST_INSIDE = 40;

/** Describes the inner runs of a visit, failures first, and its approval. */
function describeInside({ inner = [], left = 0, approval }: Visit, { paint, most }: View): string[] {
  const rows = failedFirst(inner).map(({ place, status, verdict, complaint, nodes }) => {
    const said = [verdict, complaint, nodes.length > 0 ? `at ${nodes.join(", ")}` : undefined];
    const mark =
      status === "failed" ? paint("red", "✘") : status === "succeeded" ? paint("green", "✔") : paint("yellow", "↷");
    return `  ${mark} ${paint("bold", plainLine(place))} ${status}${said.map((part) => (part === undefined ? "" : ` · ${plainLine(part)}`)).join("")}`;
  });
  const mostRows = Number.isFinite(most) ? MOST_INSIDE : most;
  const word =
    approval &&
    (approval.approved === null
      ? "not answered yet"
      : `${approval.approved ? "approved" : "denied"} by ${approval.by}`);
  return [
    ...firstOf(rows, mostRows, (more) => `  ${paint("dim", `(${plural(more, "more")}: --verbose)`)}`),
    ...(left > 0 ? [`  ${plural(left, "item")} left for the next run`] : []),
    ...(approval ? [`  ${paint("yellow", "◆")} ${plainLine(approval.ask)}`, `    ${plainLine(word ?? "")}`] : []),
  ];
}

function describeAsk(ask: Ask, view: View): string[] {
  const { paint } = view;
  const head = `  ${paint("cyan", "▸")} ${paint("bold", PURPOSES[ask.purpose])} ${paint("dim", plainLine(ask.model))}`;
  const asked = [head, ...describePrompt(ask, view)];
  if (ask.error) return [...asked, `  ${paint("red", "✘")} ${plainLine(ask.error.message)}`, ""];
  const { usage, reply } = ask;
  const spent = usage
    ? [`${formatCount(usage.inputTokens)} in, ${formatCount(usage.outputTokens)} out`, costWords(usage.costUsd)]
    : ["tokens unknown"];
  const stop = reply.stop === "end" ? [] : [reply.stop === "length" ? "cut off" : "refused"];
  return [
    ...asked,
    `  ${paint("green", "◂")} ${paint("bold", "replied")} ${paint("dim", [...stop, ...spent].join(" · "))}`,
    ...reply.parts.flatMap((part) => quoted(partText(part), view)),
    "",
  ];
}

const PURPOSES = {
  work: "asked",
  route: "asked for the next node",
  judge: "asked a judge",
  reflect: "asked what went wrong",
};

function costWords(usd: number | null): string {
  return usd === null ? "cost unknown" : formatCost(usd);
}

function describePrompt({ prompt }: Ask, view: View): string[] {
  if (!prompt) return [`    ${view.paint("dim", "(this version cannot rebuild the prompt)")}`];
  const offered = prompt.tools.length > 0 && !prompt.continues ? [`tools: ${prompt.tools.join(", ")}`] : [];
  const turns = prompt.turns.flatMap((turn) => turnText(turn, prompt.continues));
  return [...prompt.opening, ...turns, ...offered].flatMap((text) => quoted(text, view));
}

/** Returns the texts of a turn. Skips replies and results if they were already shown. */
function turnText(turn: Turn, isKnown: boolean): string[] {
  if (turn.role === "user") return [turn.text];
  if (isKnown) return [];
  return turn.role === "tools" ? turn.results.map(answerText) : turn.parts.map(partText);
}

function partText(part: Part): string {
  if (part.type === "text") return part.text;
  if (part.type === "opaque") return `(${part.provider}'s own)`;
  return `calls ${part.tool} ${part.type === "call" ? JSON.stringify(part.input) : part.text}`;
}

function describeCall({ ref, tool, input, output, error, planned, durationMs }: Call, view: View): string[] {
  const { paint } = view;
  const took = durationMs === null ? "no result" : formatDuration(durationMs);
  const mark =
    error !== undefined ? paint("red", "✘") : durationMs === null ? paint("yellow", "■") : paint("green", "✔");
  const kept = planned === undefined ? [] : [`planned as ${planned}`];
  return [
    `  ${mark} ${paint("bold", plainLine(ref))} ${plainLine(tool)} ${paint("dim", [...kept, took].map(plainLine).join(" · "))}`,
    ...quoted(JSON.stringify(input), view),
    ...(error === undefined ? [] : quoted(error, view)),
    ...(output === undefined ? [] : quoted(valueText(output), view)),
    "",
  ];
}

function valueText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value, undefined, 1);
}

function quoted(text: string, { paint, most }: View): string[] {
  const whole = plainText(text);
  const shown = whole.slice(0, most);
  const lines = shown.split("\n").map((line) => `    ${paint("dim", "│")} ${line}`);
  const left = whole.length - shown.length;
  const more = `    ${paint("dim", `│ … ${formatCount(left)} characters more: --verbose`)}`;
  return left > 0 ? [...lines, more] : lines;
}

function describeOutcome({ data: given, inner, evals, evidence, route }: Visit, { paint, width }: View): string[] {
  const data = given && inner ? Object.fromEntries(Object.entries(given).filter(([key]) => key !== "items")) : given;
  const judged = evals.map(({ name, kind, pass, reasoning }) => {
    const mark = pass ? paint("green", "✔") : paint("red", "✘");
    return `  ${mark} ${plainLine(name)} ${paint("dim", kind)}${reasoning ? `: ${plainLine(reasoning)}` : ""}`;
  });
  const claims =
    evidence && `  evidence: quotes found for ${evidence.supported} of ${plural(evidence.claims, "claim")}`;
  return [
    ...(data && Object.keys(data).length > 0
      ? [`  ${paint("bold", "result")}`, ...describeData(data, paint, width)]
      : []),
    ...judged,
    ...(claims ? [claims] : []),
    ...(route ? [`  ${paint("cyan", "→")} ${plainLine(route.to)}: ${plainLine(route.reason)}`] : []),
    "",
  ];
}
