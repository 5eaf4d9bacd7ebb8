import { plainLine } from "../../../core/base/inert.ts";
import { firstOf } from "../../../core/base/preview.ts";
import { nameOfNode, nodeAt } from "../../../core/engine/event/record.ts";
import type { Observer } from "../../../core/engine/ports.ts";
import { duration, oneLine } from "../terminal.ts";
import {
  ASKING,
  freshPresent,
  type Items,
  note,
  noteEarlier,
  type Present,
  type Scope,
  scopeOf,
  WAITING,
} from "./present.ts";
import { describeEvent, headerOf, type Telling } from "./tree.ts";

interface ProgressOptions extends Telling {
  readonly write: (text: string) => void;
  readonly redraw: (lines: string) => void;
  readonly now: () => number;
}

/** Shows a growing tree of the run on a terminal, above a few live lines. */
export function liveProgress(options: ProgressOptions): Observer & { close(): void } {
  const { write, redraw, now } = options;
  const present = freshPresent(now());
  if (options.resumed) noteEarlier(present, options.resumed.events, now(), options.record);
  const started = now();
  const { draw, clear, close } = keepDrawing(redraw, () => {
    return scopeOf(present, undefined, now()).node === "" ? [] : liveLines(options, present, now() - started);
  });
  if (options.resumed) write(`${headerOf(options)}\n`);
  draw();
  return {
    onEvent(event) {
      note(present, event, now(), options.record);
      const lines = describeEvent({ ...options, present, now: now() }, event);
      if (lines.length > 0) {
        clear();
        write(`${lines.join("\n")}\n`);
      }
      if (event.type !== "workflow:end") draw();
    },
    onProgress({ message }) {
      scopeOf(present, undefined, now()).doing = WAITING;
      clear();
      write(`  ${options.paint("yellow", "…")} ${oneLine(message, options.columns - 4)}\n`);
      draw();
    },
    onAnswering({ characters }) {
      const scope = scopeOf(present, undefined, now());
      if (scope.doing === WAITING) scope.doing = ASKING;
      present.characters = characters;
    },
    close,
  };
}

/** Draws the live lines again and again until they are closed. */
export function keepDrawing(redraw: (lines: string) => void, lines: () => readonly string[]) {
  let shown = false;
  const clear = () => {
    if (shown) redraw("");
    shown = false;
  };
  const draw = () => {
    const text = lines().join("\n");
    if (text !== "") redraw(text);
    shown ||= text !== "";
  };
  const timer = setInterval(draw, 120);
  timer.unref();
  const close = () => {
    clearInterval(timer);
    clear();
  };
  return { draw, clear, close };
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** Returns a live line after a mark that turns. */
export function spinning(text: string, { paint, columns, now }: Pick<ProgressOptions, "paint" | "columns" | "now">) {
  const frame = FRAMES[Math.floor(now() / 120) % FRAMES.length] ?? "";
  return `${paint("cyan", frame)} ${paint("dim", oneLine(text, columns - 4))}`;
}

/** Maximum number of inner runs shown. More would push earlier output out of sight. */
const MOST_INSIDE = 8;

function liveLines(options: ProgressOptions, present: Present, elapsed: number): string[] {
  const { paint, columns, now } = options;
  const cost = present.costUsd === null ? "" : ` · $${present.costUsd.toFixed(4)}`;
  const spent = `${duration(elapsed)} · ${present.tokens} tokens${cost}`;
  const root = scopeOf(present, undefined, now());
  const inside = insideLines(options, present);
  const arriving = inside.length === 0 && present.characters > 0 ? ` (${present.characters} characters)` : "";
  const head = `${headOf(options, root, undefined)}${arriving} · ${spent}`;
  const lines = inside.map(({ depth, text }) => {
    return "  ".repeat(depth + 1) + paint("dim", oneLine(text, columns - 2 * depth - 4));
  });
  const shown = firstOf(lines, MOST_INSIDE, (hidden) => paint("dim", `    … ${hidden} more running`));
  return [spinning(head, options), ...shown];
}

function headOf({ record }: Telling, { node, turns, doing, items }: Scope, at: string | undefined): string {
  if (items) return `${plainLine(nameOfNode(record, at, node))}  ${itemWords(items)}`;
  const isAround = record.inner?.[node] !== undefined && at === undefined;
  if (isAround) return plainLine(nameOfNode(record, at, node));
  const shown = at === undefined ? node : nameOfNode(record, at, node);
  const turn = nodeAt(record, at, node)?.instruction === undefined ? "" : ` · turn ${turns + 1}`;
  return `${plainLine(shown)}${turn} · ${doing}`;
}

/** Describes a map's progress, such as `12 of 40, 1 failed`. */
function itemWords({ total, over, running, failed }: Items): string {
  const parts = [`${over} of ${total}`, running > 0 ? `${running} running` : "", failed > 0 ? `${failed} failed` : ""];
  return parts.filter((part) => part !== "").join(", ");
}

type InsideLine = { readonly depth: number; readonly text: string };

/** Lists the running inner runs, each followed by those inside it. */
function insideLines(options: ProgressOptions, present: Present, within = { place: "", depth: 1 }): InsideLine[] {
  const { depth } = within;
  return [...present.scopes].flatMap(([place, scope]) => {
    if (place === "" || scope.parent !== within.place || scope.node === "") return [];
    const key = scope.key === undefined ? "" : `${plainLine(scope.key)}  `;
    return [
      { depth, text: key + headOf(options, scope, place) },
      ...insideLines(options, present, { place, depth: depth + 1 }),
    ];
  });
}
