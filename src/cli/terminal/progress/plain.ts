import { nodePath } from "../../../core/document/inner/place.ts";
import { reasonIn } from "../../../core/engine/decide/route.ts";
import type { EventOf, RunEvent } from "../../../core/engine/event/event.ts";
import { plannedAs } from "../../../core/engine/event/operation.ts";
import type { Observer } from "../../../core/engine/ports.ts";
import { answerText } from "../../../reports/model/waiting.ts";
import { amount, oneLine } from "../terminal.ts";

/** Prints one plain line per event, without cursor movement, for output that is not a terminal. */
export function plainProgress(write: (text: string) => void): Observer {
  return {
    onEvent(event) {
      const words = plainWords(event);
      if (words !== undefined) write(`${oneLine(`${event.type} ${words}`, 500)}\n`);
    },
    onProgress({ node, message }) {
      write(`${oneLine(`node:progress ${node} ${message}`, 500)}\n`);
    },
  };
}

function answerWords(event: EventOf<"tool:result">): string {
  const operation = plannedAs(event);
  if (operation !== undefined) return `planned ${operation}`;
  return event.error === undefined ? "ok" : `error: ${event.error}`;
}

/** Describes an event. Nodes are named by their place, such as `each[fp-81]/look`. */
function plainWords(event: RunEvent): string | undefined {
  const node = "node" in event && event.node !== undefined ? nodePath(event.at, event.node) : "";
  switch (event.type) {
    case "workflow:start":
      return event.workflow;
    case "sources:resolved":
      return amount(Object.keys(event.sources).length, "source");
    case "node:enter":
      return `${node} visit=${event.iteration}`;
    case "tool:call":
      return `${node} ${event.tool} ${JSON.stringify(event.input)}`;
    case "tool:result":
      return `${node} ${event.tool} ${answerWords(event)}`;
    case "operation:planned":
      return `${node} ${event.operation.id} ${event.operation.summary}`;
    case "tool:defined":
      return `${node} ${event.tool.exposed}${event.persistent ? " persistent" : ""}`;
    case "tool:removed":
      return `${node} ${event.name}`;
    case "model:reply": {
      const why = event.purpose === "route" ? reasonIn(event.parts) : undefined;
      const spent = `in=${event.usage?.inputTokens ?? "?"} out=${event.usage?.outputTokens ?? "?"}`;
      return `${node} ${event.purpose} ${event.model} ${spent}${why === undefined ? "" : ` because ${why}`}`;
    }
    case "model:error":
      return `${node} ${event.purpose} ${event.code}: ${event.message}`;
    case "node:retry":
      return `${node} attempt=${event.attempt} ${event.reason}`;
    case "reply:rejected":
      return `${node} ${event.reason}`;
    case "node:exit":
      return `${node} ${event.stopped ? "stopped" : event.result.status}${event.result.data.error ? `: ${String(event.result.data.error)}` : ""}`;
    case "route":
      return `${nodePath(event.at, event.from)} -> ${event.to}: ${event.reason}`;
    case "map:start": {
      const skipped = event.items.filter((item) => item.skipped_reason !== undefined).length;
      return `${node} ${amount(event.items.length, "item")}, ${skipped} skipped, ${event.left} left`;
    }
    case "inner:start":
      return event.inner;
    case "inner:end": {
      const why = event.error?.message ?? event.data.error ?? event.skipped_reason;
      return `${event.inner} ${event.status}${why === undefined ? "" : `: ${String(why)}`}`;
    }
    case "approval:asked":
      return `${node} ${event.ask}`;
    case "approval:given":
      return `${node} ${answerText(event)}`;
    case "workflow:end":
      return `${event.status}: ${event.reason}`;
    case "warning":
    case "limit:reached":
    case "run:fail":
      return event.message;
    case "run:interrupt":
      return event.reason;
    case "run:resume":
      return event.from === undefined ? "" : `from ${event.from}`;
  }
}
