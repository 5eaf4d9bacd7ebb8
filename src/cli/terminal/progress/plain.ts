import type { RunEvent } from "../../../core/engine/event/event.ts";
import type { Observer } from "../../../core/engine/ports.ts";
import { eventText } from "../../../reports/record/event-text.ts";
import { oneLine } from "../terminal.ts";

/** Prints one plain line per event, without cursor movement, for output that is not a terminal. */
export function plainProgress(write: (text: string) => void): Observer {
  return {
    onEvent(event) {
      if (!UNPRINTED.includes(event.type)) write(`${oneLine(`${event.type} ${eventText(event)}`, 500)}\n`);
    },
    onProgress({ node, message }) {
      write(`${oneLine(`node:progress ${node} ${message}`, 500)}\n`);
    },
  };
}

const UNPRINTED: readonly RunEvent["type"][] = [
  ...(["evidence:checked", "tool:audience", "tool:change", "state:written"] as const),
  ...(["operation:begun", "operation:ended", "operation:refused", "operation:resolved"] as const),
];
