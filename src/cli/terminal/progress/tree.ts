import { plainLine } from "../../../core/base/inert.ts";
import { documentOf, nodePath } from "../../../core/document/inner/place.ts";
import type { EventOf, RunEvent } from "../../../core/engine/event/event.ts";
import { plannedAs } from "../../../core/engine/event/operation.ts";
import type { RunRecord } from "../../../core/engine/event/record.ts";
import { nameOfNode, workflowAt } from "../../../core/engine/fold/documents.ts";
import { shortfallText } from "../../../core/engine/result/degraded.ts";
import { answerText } from "../../../reports/model/waiting.ts";
import { amount, duration, oneLine, type Paint } from "../terminal.ts";
import { type Present, scopeOf } from "./present.ts";

/** Options for the lines of a run. */
export interface Telling {
  readonly record: RunRecord;
  /** Model that the run uses, after flags are applied. */
  readonly model: string;
  readonly paint: Paint;
  readonly columns: number;
  /** Node at which a resumed run continues. */
  readonly resumedAt?: string | undefined;
}

/** Returns the permanent lines of an event. Inner runs of calls are indented. Map items show only what users need to know. */
export function describeEvent(telling: Telling, event: RunEvent, present: Present, now: number): string[] {
  const { at } = event;
  if (at !== undefined && at !== documentOf(at)) return describeInItem(telling, event);
  const depth = at === undefined ? 0 : at.split("/").length;
  const margin = "  ".repeat(depth);
  const narrower = { ...telling, columns: telling.columns - margin.length };
  return describeOwn(narrower, event, present, now).map((line) => `${margin}${line}`);
}

/** Describes an event of a map item. Items run in parallel, so each line must name its item. */
function describeInItem({ paint, columns }: Telling, event: RunEvent): string[] {
  const { at } = event;
  const words = (node: string, text: string) => oneLine(`${nodePath(at, node)}: ${text}`, columns - 6);
  switch (event.type) {
    case "warning":
      return [`  ${paint("yellow", "!")} ${words(event.node ?? "", event.message)}`];
    case "approval:asked":
      return [`  ${paint("yellow", "◆")} ${words(event.node, event.ask)}`];
    case "approval:given":
      return [`  ${paint("yellow", "◆")} ${words(event.node, answerText(event))}`];
    case "limit:reached":
    case "run:fail":
      return [`  ${paint("yellow", "■")} ${words("node" in event ? event.node : "", event.message)}`];
    default:
      return [];
  }
}

function describeOwn(telling: Telling, event: RunEvent, present: Present, now: number): string[] {
  const { paint, columns, record } = telling;
  const cut = (text: string, used = 4) => oneLine(text, columns - used);
  switch (event.type) {
    case "workflow:start":
      return [headerOf(telling)];
    case "node:enter": {
      const again = event.iteration > 1 ? paint("dim", ` (visit ${event.iteration})`) : "";
      return [`${paint("cyan", "●")} ${paint("bold", plainLine(nameOfNode(record, event.at, event.node)))}${again}`];
    }
    case "tool:call":
      return [
        `  ${paint("dim", "├")} ${paint("blue", plainLine(event.tool))} ${paint("dim", cut(JSON.stringify(event.input), event.tool.length + 6))}`,
      ];
    case "tool:result": {
      const operation = plannedAs(event);
      if (operation !== undefined)
        return [`  ${paint("dim", "│")} ${paint("yellow", `planned ${plainLine(operation)}`)}`];
      return event.error === undefined
        ? []
        : [
            `  ${paint("dim", "│")} ${paint("red", `✗ ${plainLine(event.tool)}`)} ${cut(event.error, event.tool.length + 8)}`,
          ];
    }
    case "tool:defined":
      return [`  ${paint("dim", "│")} ${paint("yellow", "+ defined")} ${cut(event.tool.exposed, 16)}`];
    case "tool:removed":
      return [`  ${paint("dim", "│")} ${paint("yellow", "− removed")} ${cut(event.name, 16)}`];
    case "reply:rejected":
      return [`  ${paint("yellow", "↺ sent back:")} ${cut(event.reason, 18)}`];
    case "node:retry":
      return [`  ${paint("yellow", `↺ attempt ${event.attempt + 1}:`)} ${cut(event.reason, 18)}`];
    case "model:error":
      return [`  ${paint("red", "✗ model:")} ${cut(event.message, 14)}`];
    case "warning":
      return [`  ${paint("yellow", "!")} ${cut(event.message)}`];
    case "map:start":
      return [`  ${paint("dim", "├")} ${paint("dim", mapWords(event))}`];
    case "inner:end":
      return describeItemEnd(telling, event, present, now);
    case "approval:asked":
      return [`  ${paint("yellow", "◆ waiting:")} ${cut(event.ask, 16)}`];
    case "approval:given":
      return [`  ${paint("yellow", "◆")} ${cut(answerText(event))}`];
    case "node:exit":
      return [describeExit(telling, event, present, now)];
    case "route": {
      const to = event.at === undefined ? event.to : nameOfNode(record, event.at, event.to);
      const { why } = scopeOf(present, event.at, now);
      const reason = why === undefined ? [] : [`      ${paint("dim", `because ${cut(why, 14)}`)}`];
      return [`    ${paint("dim", `→ ${cut(`${to}: ${event.reason}`, 10)}`)}`, ...reason];
    }
    case "limit:reached":
    case "run:fail":
      return [`  ${paint("yellow", "■")} ${cut(event.message)}`];
    case "run:interrupt":
      return [`  ${paint("yellow", "■")} ${cut(event.reason)}`];
    default:
      return [];
  }
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

function describeItemEnd(
  { paint, columns }: Telling,
  event: RunEvent & EventOf<"inner:end">,
  present: Present,
  now: number,
): string[] {
  const { item: key, status, data, error } = event;
  const failed = scopeOf(present, event.at, now).items?.failed ?? 0;
  if (key === undefined || status !== "failed" || failed > MOST_FAILED) return [];
  const why = String(error?.message ?? data.error ?? "failed");
  return [
    `  ${paint("dim", "│")} ${paint("red", `✘ ${oneLine(key, 60)}`)} ${oneLine(why, columns - 10 - Math.min(60, key.length))}`,
  ];
}

function describeExit(
  { paint, columns, record }: Telling,
  { at, node, result, stopped, degraded }: RunEvent & EventOf<"node:exit">,
  present: Present,
  now: number,
): string {
  const { status, data } = result;
  const scope = scopeOf(present, at, now);
  const workflow = workflowAt(record, at) ?? record.workflow;
  const short = degraded?.map(shortfallText).join("; ");
  const mark = {
    success: short === undefined ? paint("green", "✔ success") : paint("yellow", "▲ degraded"),
    failed: stopped ? paint("yellow", "■ stopped") : paint("red", "✘ failed"),
    skipped: paint("yellow", "↷ skipped"),
  }[status];
  const isAround = workflow.nodes[node]?.map !== undefined || workflow.nodes[node]?.call !== undefined;
  const did = scope.items
    ? [amount(scope.items.total, "item")]
    : isAround
      ? []
      : [amount(scope.turns, "turn"), amount(scope.calls, "call")];
  const spent = [...did, duration(now - scope.since)].join(", ");
  const said = status === "success" ? (short ?? "") : String(data.error ?? data.skipped_reason ?? "");
  const why = said === "" ? "" : ` ${oneLine(said, columns - 30)}`;
  return `  ${paint("dim", "└")} ${mark} ${paint("dim", spent)}${why}`;
}

export function headerOf({ paint, record, model, resumedAt }: Telling): string {
  const about = [`run ${record.run}`, model, ...(resumedAt === undefined ? [] : [`resumed at ${resumedAt}`])];
  return `${paint("bold", plainLine(record.workflow.name))} ${paint("dim", `· ${about.map(plainLine).join(" · ")}`)}\n`;
}
