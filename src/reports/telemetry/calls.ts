import { defined, isObject, type Json } from "../../core/base/values.ts";
import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import { OWN_TOOLS, READ_SKILL, RUN_SCRIPT } from "../../core/engine/tools/own-tools.ts";
import { type Draft, errorOf, later, openSpan, placeAttributes, visitAt, type Walk, withoutKeys } from "./walk.ts";

type Called = Pick<EventOf<"tool:call">, "node" | "tool" | "id"> &
  Pick<RunEvent, "at" | "time"> & { readonly input?: Json };

export function openCall(walk: Walk, event: Called): Draft {
  const { record, content, skillOf } = walk;
  const { id, time, input } = event;
  // A name that the model invented is content.
  const tool = content || skillOf.has(event.tool) || OWN_TOOLS.includes(event.tool) ? event.tool : "unknown";
  const parent = visitAt(walk, event).key;
  const skill = skillOf.get(tool);
  const loaded = input === undefined ? undefined : loadedSkill(record, tool, input);
  const about = [loaded?.["gen_ai.skill.name"], loaded?.["gen_ai.skill.resource.name"]].filter(
    (each) => each !== undefined,
  );
  return openSpan(walk, {
    key: id,
    parent,
    name: ["execute_tool", tool, ...about].join(" "),
    time,
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": withoutKeys(walk, id),
      ...placeAttributes(walk, event),
      ...defined("skillflow.skill", skill),
      ...loaded,
      ...(content && input !== undefined ? { "gen_ai.tool.call.arguments": JSON.stringify(input) } : {}),
    },
  });
}

/** Returns the skill and file that a call reads or runs, if they exist. */
function loadedSkill({ skills }: RunRecord, tool: string, input: Json): Record<string, string> | undefined {
  if ((tool !== READ_SKILL && tool !== RUN_SCRIPT) || !isObject(input)) return undefined;
  const skill = skills.find(({ id }) => id === input.skill_name);
  const file = skill?.files?.find((name) => name === input.path);
  return { ...defined("gen_ai.skill.name", skill?.id), ...defined("gen_ai.skill.resource.name", file) };
}

export function takeResult(walk: Walk, event: RunEvent & EventOf<"tool:result">): void {
  const { id, time, error, code, output, planned, ref } = event;
  const call = walk.open.get(id) ?? openCall(walk, event);
  walk.open.delete(id);
  call.endedAt = later(call.startedAt, time);
  call.attributes = {
    ...call.attributes,
    ...defined("skillflow.ref", ref),
    ...(planned ? { "skillflow.planned": true } : {}),
    ...(walk.content && output !== undefined ? { "gen_ai.tool.call.result": JSON.stringify(output) } : {}),
  };
  if (error !== undefined) call.error = errorOf(code ?? "tool.failed", walk.content ? error : undefined);
}

/** Adds a span for an operation that was applied after the run's end. */
export function takeApplied(
  walk: Walk,
  event: RunEvent & (EventOf<"operation:begun"> | EventOf<"operation:ended">),
): void {
  const operation = walk.planned.get(event.operation);
  if (!operation) return;
  if (event.type === "operation:begun") {
    const id = `${event.key}/${event.operation}`;
    const tool = `${operation.skill}_${operation.tool}`;
    const span = openSpan(walk, {
      key: id,
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
    walk.open.set(`operation ${event.operation}`, span);
    return;
  }
  const span = walk.open.get(`operation ${event.operation}`);
  if (!span) return;
  walk.open.delete(`operation ${event.operation}`);
  span.endedAt = later(span.startedAt, event.time);
  if (event.error !== undefined) {
    span.error = errorOf(event.code ?? "tool.failed", walk.content ? event.error : undefined);
  }
}
