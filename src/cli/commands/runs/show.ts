import { findRun } from "../../../app/adapters/stores.ts";
import { inspectNode } from "../../../app/runs/inspect.ts";
import { plainLine } from "../../../core/base/inert.ts";
import { reasonIn } from "../../../core/engine/decide/route.ts";
import type { RunEvent } from "../../../core/engine/event/event.ts";
import { stateOf } from "../../../core/engine/fold/fold.ts";
import { showCommand } from "../../../core/engine/result/commands.ts";
import { describeResult } from "../../../core/engine/result/result.ts";
import { openProject } from "../../flags.ts";
import type { Action } from "../../io.ts";
import { amount, jsonLine, oneLine, painter, printJson, screenOf } from "../../terminal/terminal.ts";
import { describeVerdict, statusMark } from "../../terminal/verdict.ts";

export const showRun: Action = async (io, [given = "", node], flags) => {
  const { store, queue } = openProject(io, flags);
  const stored = await store.read(await findRun(store, given));
  if (node !== undefined) return (await import("./show-node.ts")).showNode(io, inspectNode(stored, node), flags);
  if (flags.stream === true) {
    for (const event of stored.events) await io.out(jsonLine(event));
    return 0;
  }
  const { record, events } = stored;
  const state = stateOf(stored);
  const finished = { record, events, state, result: describeResult(record, state) };
  if (flags.json === true) return printJson(io, finished.result);
  const paint = painter(io, flags);
  await io.outText(
    `${paint("bold", plainLine(stored.record.workflow.name))} ${paint("dim", `· run ${plainLine(stored.record.run)}`)}\n`,
  );
  for (const line of stored.events.flatMap(pathLine)) await io.outText(`${paint("dim", line)}\n`);
  if ((await queue?.queued())?.has(record.run)) {
    await io.outText(`${statusMark("queued", paint)}: the first worker with a free slot takes it\n`);
    return 0;
  }
  const typed = showCommand(stored.record);
  await io.outText(describeVerdict(finished, { ...screenOf(io, paint), isWhole: true, typed }));
  return 0;
};

function pathLine(event: RunEvent): string[] {
  if (event.type === "node:exit") {
    const { node, stopped, result } = event;
    return [`  ${plainLine(node)}: ${stopped ? "stopped" : result.status}, ${amount(result.toolCalls.length, "call")}`];
  }
  if (event.type === "model:reply" && event.purpose === "route") {
    const why = reasonIn(event.parts);
    return why === undefined ? [] : [`    because ${oneLine(why, 300)}`];
  }
  return event.type === "route" ? [`    → ${plainLine(event.to)}: ${plainLine(event.reason)}`] : [];
}
