import { defined, isObject, type Json } from "../../core/base/values.ts";
import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import { OWN_TOOLS, READ_SKILL, RUN_SCRIPT } from "../../core/engine/tools/own-tools.ts";
import { endCall, openSpan, placeAttributes, type Span, visitAt, type Walk, withoutKeys } from "./walk.ts";

type Called = Pick<EventOf<"tool:call">, "node" | "tool" | "id"> &
  Pick<RunEvent, "at" | "time"> & { readonly input?: Json };

export function openCall(walk: Walk, event: Called): Span {
  const { record, content, skillOf } = walk;
  const { id, time, input } = event;
  // A name that the model invented is content.
  const tool = content || skillOf.has(event.tool) || OWN_TOOLS.includes(event.tool) ? event.tool : "unknown";
  const loaded = input === undefined ? {} : loadedSkill(record, tool, input);
  return openSpan(walk, {
    key: id,
    parent: visitAt(walk, event).key,
    name: ["execute_tool", tool, ...Object.values(loaded)].join(" "),
    time,
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": withoutKeys(walk, id),
      ...placeAttributes(walk, event),
      ...defined("skillflow.skill", skillOf.get(tool)),
      ...loaded,
      ...(content && input !== undefined ? { "gen_ai.tool.call.arguments": JSON.stringify(input) } : {}),
    },
  });
}

/** Returns the skill and file that a call reads or runs, if they exist. */
function loadedSkill({ skills }: RunRecord, tool: string, input: Json): Record<string, string> {
  if ((tool !== READ_SKILL && tool !== RUN_SCRIPT) || !isObject(input)) return {};
  const skill = skills.find(({ id }) => id === input.skill_name);
  const file = skill?.files?.find((name) => name === input.path);
  return { ...defined("gen_ai.skill.name", skill?.id), ...defined("gen_ai.skill.resource.name", file) };
}

export function takeResult(walk: Walk, event: RunEvent & EventOf<"tool:result">): void {
  const { id, output, planned, ref } = event;
  const call = walk.open.get(id) ?? openCall(walk, event);
  walk.open.delete(id);
  endCall(walk, call, event);
  call.attributes = {
    ...call.attributes,
    ...defined("skillflow.ref", ref),
    ...(planned ? { "skillflow.planned": true } : {}),
    ...(walk.content && output !== undefined ? { "gen_ai.tool.call.result": JSON.stringify(output) } : {}),
  };
}

/** Adds a span for an operation that was applied after the run's end. */
export function takeApplied(
  walk: Walk,
  event: RunEvent & (EventOf<"operation:begun"> | EventOf<"operation:ended">),
): void {
  const operation = walk.planned.get(event.operation);
  if (!operation) return;
  const open = `operation ${event.operation}`;
  if (event.type === "operation:begun") {
    const tool = `${operation.skill}_${operation.tool}`;
    const span = openSpan(walk, {
      key: `${event.key}/${event.operation}`,
      parent: walk.root?.key,
      name: `execute_tool ${tool}`,
      time: event.time,
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.type": "function",
        "gen_ai.conversation.id": walk.record.run,
        "skillflow.run": walk.record.run,
        "skillflow.node": operation.node,
        "skillflow.applied": true,
      },
    });
    walk.open.set(open, span);
    return;
  }
  const span = walk.open.get(open);
  if (span) endCall(walk, span, event);
  walk.open.delete(open);
}
