import { plainLine } from "../../../core/base/inert.ts";
import { documentOf, nodePath } from "../../../core/document/inner/place.ts";
import { shortfallText } from "../../../core/engine/event/end.ts";
import type { EventOf, RunEvent } from "../../../core/engine/event/event.ts";
import { plannedAs } from "../../../core/engine/event/operation.ts";
import { nameOfNode, type RunRecord, workflowAt } from "../../../core/engine/event/record.ts";
import { describeReferences } from "../../../core/engine/plan/reference.ts";
import { switchText } from "../../../reports/model/visit.ts";
import { answerText } from "../../../reports/model/waiting.ts";
import { amount, duration, type Format, oneLine, type Paint } from "../terminal.ts";
import { type Present, scopeOf } from "./present.ts";

export interface Telling {
  readonly record: RunRecord;
  /** Model that the run uses, after flags are applied. */
  readonly model: string;
  readonly paint: Paint;
  readonly columns: number;
  readonly resumed?: Resumed | undefined;
}

export interface Resumed {
  /** Node at which the run continues. */
  readonly at: string;
  readonly events: readonly RunEvent[];
}

interface Scene extends Telling {
  readonly present: Present;
  readonly now: number;
}

/** Returns the permanent lines of an event. Inner runs of calls are indented. Map items show only what users need to know. */
export function describeEvent(scene: Scene, event: RunEvent): string[] {
  const { at } = event;
  if (at !== undefined && at !== documentOf(at)) return describeInItem(scene, event);
  const depth = at === undefined ? 0 : at.split("/").length;
  const margin = "  ".repeat(depth);
  return describeOwn({ ...scene, columns: scene.columns - margin.length }, event).map((line) => `${margin}${line}`);
}

/** Describes an event of a map item. Items run in parallel, so each line must name its item. */
function describeInItem({ paint, columns }: Scene, event: RunEvent): string[] {
  const note = IN_ITEMS.includes(event.type) ? noteOf(event) : undefined;
  if (!note) return [];
  const [format, mark, text] = note;
  const node = "node" in event && event.node !== undefined ? event.node : "";
  return [`  ${paint(format, mark)} ${oneLine(`${nodePath(event.at, node)}: ${text}`, columns - mark.length - 5)}`];
}

const IN_ITEMS: readonly string[] = ["warning", "approval:asked", "approval:given", "limit:reached", "run:fail"];

type Note = readonly [Format, mark: string, text: string];

/** Events that take one line, as its color, mark and text. */
const NOTES: { readonly [Type in RunEvent["type"]]?: (event: EventOf<Type>) => Note } = {
  "tool:defined": ({ tool }) => ["yellow", "│ + defined", tool.exposed],
  "tool:removed": ({ name }) => ["yellow", "│ − removed", name],
  "reply:rejected": ({ reason }) => ["yellow", "↺ sent back:", reason],
  "node:retry": ({ attempt, reason }) => ["yellow", `↺ attempt ${attempt + 1}:`, reason],
  "model:error": ({ message }) => ["red", "✗ model:", message],
  "model:switch": (event) => ["yellow", "! model:", switchText(event)],
  warning: ({ message }) => ["yellow", "!", message],
  "approval:asked": ({ ask }) => ["yellow", "◆ waiting:", ask],
  "approval:given": (event) => ["yellow", "◆", answerText(event)],
  "limit:reached": ({ message }) => ["yellow", "■", message],
  "run:fail": ({ message }) => ["yellow", "■", message],
  "run:interrupt": ({ reason }) => ["yellow", "■", reason],
};

function noteOf<Type extends RunEvent["type"]>(event: EventOf<Type>): Note | undefined {
  return NOTES[event.type]?.(event);
}

function describeOwn(scene: Scene, event: RunEvent): string[] {
  const { paint, columns, record } = scene;
  const cut = (text: string, used: number) => oneLine(text, columns - used);
  switch (event.type) {
    case "workflow:start":
      return [headerOf(scene)];
    case "node:enter": {
      const again = event.iteration > 1 ? paint("dim", ` (visit ${event.iteration})`) : "";
      return [`${paint("cyan", "●")} ${paint("bold", plainLine(nameOfNode(record, event.at, event.node)))}${again}`];
    }
    case "tool:call": {
      const input = paint("dim", cut(describeReferences(JSON.stringify(event.input)), event.tool.length + 6));
      return [`  ${paint("dim", "├")} ${paint("blue", plainLine(event.tool))} ${input}`];
    }
    case "tool:result":
      return describeToolResult(scene, event);
    case "map:start":
      return [`  ${paint("dim", "├")} ${paint("dim", mapWords(event))}`];
    case "inner:end":
      return describeItemEnd(scene, event);
    case "node:exit":
      return [describeExit(scene, event)];
    case "route": {
      const to = event.at === undefined ? event.to : nameOfNode(record, event.at, event.to);
      const { why } = scopeOf(scene.present, event.at, scene.now);
      const reason = why === undefined ? [] : [`      ${paint("dim", `because ${cut(why, 14)}`)}`];
      return [`    ${paint("dim", `→ ${cut(`${to}: ${event.reason}`, 10)}`)}`, ...reason];
    }
    default: {
      const [format, mark, text] = noteOf(event) ?? ["dim", "", ""];
      return mark === "" ? [] : [`  ${paint(format, mark)} ${cut(text, mark.length + 3)}`];
    }
  }
}

function describeToolResult({ paint, columns }: Scene, event: EventOf<"tool:result">): string[] {
  const { tool, error } = event;
  const operation = plannedAs(event);
  const edge = `  ${paint("dim", "│")}`;
  if (operation !== undefined) return [`${edge} ${paint("yellow", `planned ${plainLine(operation)}`)}`];
  if (error === undefined) return [];
  const [format, mark] = event.code === "run.interrupted" ? (["yellow", "■"] as const) : (["red", "✗"] as const);
  return [`${edge} ${paint(format, `${mark} ${plainLine(tool)}`)} ${oneLine(error, columns - tool.length - 8)}`];
}

function mapWords({ items, left }: EventOf<"map:start">): string {
  const skipped = items.filter((item) => item.skipped_reason !== undefined).length;
  const parts = [
    amount(items.length, "item"),
    skipped > 0 ? `${skipped} skipped` : "",
    left > 0 ? `${left} left for the next run` : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}

/** Maximum number of failed items to list. The live line and the final summary count all of them. */
const MOST_FAILED = 20;

function describeItemEnd({ paint, columns, present, now }: Scene, event: RunEvent & EventOf<"inner:end">): string[] {
  const { item: key, status, data, error } = event;
  const failed = scopeOf(present, event.at, now).items?.failed ?? 0;
  if (key === undefined || status !== "failed" || failed > MOST_FAILED) return [];
  const why = String(error?.message ?? data.error ?? "failed");
  return [
    `  ${paint("dim", "│")} ${paint("red", `✘ ${oneLine(key, 60)}`)} ${oneLine(why, columns - 10 - Math.min(60, key.length))}`,
  ];
}

function describeExit(scene: Scene, { at, node, result, stopped, degraded }: RunEvent & EventOf<"node:exit">): string {
  const { paint, columns, record, present, now } = scene;
  const { status, data } = result;
  const scope = scopeOf(present, at, now);
  const workflow = workflowAt(record, at) ?? record.workflow;
  const short = degraded?.map(shortfallText).join("; ");
  const mark = {
    success: short === undefined ? paint("green", "✔ success") : paint("yellow", "▲ degraded"),
    failed: stopped ? paint("yellow", "■ stopped") : paint("red", "✘ failed"),
    skipped: paint("yellow", "↷ skipped"),
  }[status];
  const { instruction, map, call } = workflow.nodes[node] ?? {};
  const isAround = map !== undefined || call !== undefined;
  const did = scope.items
    ? [amount(scope.items.total, "item")]
    : isAround
      ? []
      : [...(instruction === undefined ? [] : [amount(scope.turns, "turn")]), amount(scope.calls, "call")];
  const spent = [...did, duration(now - scope.since)].join(", ");
  const said = status === "success" ? (short ?? "") : String(data.error ?? data.skipped_reason ?? "");
  const why = said === "" ? "" : ` ${oneLine(said, columns - 30)}`;
  return `  ${paint("dim", "└")} ${mark} ${paint("dim", spent)}${why}`;
}

export function headerOf({ paint, record, model, resumed }: Telling): string {
  return headingOf(paint, record, [model, ...(resumed ? [`resumed at ${resumed.at}`] : [])]);
}

/** Returns the first line of what a terminal shows of a run. */
export function headingOf(paint: Paint, { run, workflow }: RunRecord, more: readonly string[]): string {
  const about = [`run ${run}`, ...more];
  return `${paint("bold", plainLine(workflow.name))} ${paint("dim", `· ${about.map(plainLine).join(" · ")}`)}\n`;
}
