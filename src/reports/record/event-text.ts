import { plural } from "../../core/base/preview.ts";
import { nodePath } from "../../core/document/inner/place.ts";
import { reasonIn } from "../../core/engine/decide/route.ts";
import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import { plannedAs } from "../../core/engine/event/operation.ts";
import { answerText } from "../model/waiting.ts";

/** Describes an event in one line. Nodes are named by their place, such as `each[fp-81]/look`. */
export function eventText(event: RunEvent): string {
  const text = ownText(event);
  if (event.type === "route") return `${nodePath(event.at, event.from)} ${text}`;
  if (WITHOUT_NODE.includes(event.type) || !("node" in event) || event.node === undefined) return text;
  return `${nodePath(event.at, event.node)} ${text}`;
}

/** Events whose texts name their places themselves. */
const WITHOUT_NODE: readonly string[] = ["warning", "limit:reached", "run:fail", "inner:start", "inner:end"];

function ownText<Type extends RunEvent["type"]>(event: EventOf<Type>): string {
  return TEXTS[event.type](event);
}

type Texts = { readonly [Type in RunEvent["type"]]: (event: EventOf<Type>) => string };
const TEXTS: Texts = {
  "workflow:start": ({ workflow }) => workflow,
  "sources:resolved": ({ sources }) => plural(Object.keys(sources).length, "source"),
  "node:enter": ({ iteration }) => `visit=${iteration}`,
  "tool:call": ({ tool, input }) => `${tool} ${JSON.stringify(input)}`,
  "tool:result": (event) => `${event.tool} ${resultText(event)}`,
  "tool:defined": ({ tool, persistent }) => `${tool.exposed}${persistent ? " persistent" : ""}`,
  "tool:removed": ({ name }) => name,
  "tool:audience": ({ audience }) => audience,
  "tool:change": ({ change, error }) => error ?? `${change?.files.length ?? 0} files`,
  "operation:planned": ({ operation: { id, summary } }) => `${id} ${summary}`,
  "operation:begun": ({ operation, by }) => `${operation} by ${by}`,
  "operation:ended": ({ operation, error }) => `${operation} ${error === undefined ? "applied" : `failed: ${error}`}`,
  "operation:refused": ({ operation, error }) => `${operation} refused: ${error}`,
  "operation:resolved": ({ operation, applied, by }) =>
    `${operation} ${applied ? "applied" : "not applied"}, says ${by}`,
  "evidence:checked": ({ evaluator, claims }) => {
    return `${evaluator}: ${claims.filter(({ supported }) => supported).length} of ${plural(claims.length, "claim")} with quotes found`;
  },
  "model:reply": ({ purpose, model, usage, parts }) => {
    const why = purpose === "route" ? reasonIn(parts) : undefined;
    const spent = `in=${usage?.inputTokens ?? "?"} out=${usage?.outputTokens ?? "?"}`;
    return `${purpose} ${model} ${spent}${why === undefined ? "" : ` because ${why}`}`;
  },
  "model:error": ({ purpose, code, message }) => `${purpose} ${code}: ${message}`,
  "model:switch": ({ purpose, from, to, reason }) => `${purpose} ${from} -> ${to}: ${reason}`,
  "node:retry": ({ attempt, reason }) => `attempt=${attempt} ${reason}`,
  "reply:rejected": ({ reason }) => reason,
  "node:exit": ({ stopped, result }) => {
    return `${stopped ? "stopped" : result.status}${result.data.error ? `: ${String(result.data.error)}` : ""}`;
  },
  route: ({ to, reason }) => `-> ${to}: ${reason}`,
  "map:start": ({ items, left }) => {
    const skipped = items.filter((item) => item.skipped_reason !== undefined).length;
    return `${plural(items.length, "item")}, ${skipped} skipped, ${left} left`;
  },
  "inner:start": ({ inner }) => inner,
  "inner:end": ({ inner, status, error, data, skipped_reason }) => {
    const why = error?.message ?? data.error ?? skipped_reason;
    return `${inner} ${status}${why === undefined ? "" : `: ${String(why)}`}`;
  },
  "approval:asked": ({ ask }) => ask,
  "approval:given": answerText,
  "approval:refused": ({ by, reason }) => `refused ${by}: ${reason}`,
  "workflow:end": ({ status, reason }) => `${status}: ${reason}`,
  warning: ({ message }) => message,
  "limit:reached": ({ message }) => message,
  "run:fail": ({ message }) => message,
  "run:interrupt": ({ reason }) => reason,
  "run:resume": ({ from }) => (from === undefined ? "" : `from ${from}`),
  "state:written": ({ entries }) => `${entries} written`,
};

function resultText(event: EventOf<"tool:result">): string {
  const operation = plannedAs(event);
  if (operation !== undefined) return `planned ${operation}`;
  return event.error === undefined ? "ok" : `error: ${event.error}`;
}
