import type { Waiting } from "../../core/engine/event/end.ts";
import type { EventOf } from "../../core/engine/event/event.ts";
import { nodeAt } from "../../core/engine/event/record.ts";
import { type Answers, signalCommands } from "../../core/engine/result/commands.ts";
import type { Report } from "./report.ts";

export interface Awaited extends Waiting, Answers {
  readonly name: string;
}

export function awaitedIn(report: Report): Awaited[] {
  const { record, result } = report;
  return (result.waiting ?? []).map((waiting) => {
    return { ...waiting, ...signalCommands(report, waiting), name: nameAt(record, waiting.node) };
  });
}

/** Describes an answer, such as `approved by kim@desk: looks right`. */
export function answerText({ approved, by, note, late }: EventOf<"approval:given">): string {
  const said = late ? "not answered in time" : `${approved ? "approved" : "denied"} by ${by}`;
  return note === undefined ? said : `${said}: ${note}`;
}

/** Returns the name of a node by its path, such as `top/each[fp-81]/ask`. */
function nameAt(record: Report["record"], path: string): string {
  const cut = path.lastIndexOf("/");
  return nodeAt(record, cut === -1 ? undefined : path.slice(0, cut), path.slice(cut + 1))?.name ?? path;
}
