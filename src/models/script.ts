import { SkillflowError } from "../core/base/errors.ts";
import { nearest } from "../core/base/values.ts";
import { encodeKey } from "../core/document/inner/place.ts";
import type { RunEvent } from "../core/engine/event/event.ts";
import type { Part, Reply } from "../core/engine/event/prompt.ts";
import type { Model, ModelCall } from "../core/engine/ports.ts";
import type { Script } from "../core/outward/testing/script.ts";

type Reading = Script["replies"][number];
type Asked = Pick<ModelCall, "purpose" | "node" | "key">;

/** Creates a model that replies from a script. Skips the replies that a resumed run has already used in `past`. */
export function scriptModel(script: Script, past: readonly RunEvent[] = []): Model {
  const left = [...script.replies];
  const take = (call: Asked) => {
    const index = left.findIndex((reply) => fits(reply, call));
    return index === -1 ? undefined : left.splice(index, 1)[0];
  };
  for (const event of past) if (event.type === "model:reply") take(event);
  return {
    provider: "script",
    async reply(_prompt, call) {
      call.signal.throwIfAborted();
      const scripted = take(call);
      if (scripted) return replyOf(scripted, call);
      const near = nearest(
        call.node,
        left.flatMap(({ node }) => node ?? []),
      );
      const message = `the script has no ${call.purpose} reply left for node ${call.node}`;
      const other = near === undefined || near === call.node ? "" : `, but one for ${near}`;
      throw new SkillflowError("script.exhausted", message + other);
    },
  };
}

function fits(reply: Reading, { purpose, node, key }: Asked): boolean {
  if (purposeOf(reply) !== purpose || (reply.node !== undefined && reply.node !== node)) return false;
  return reply.item === undefined || key.includes(`[${encodeKey(reply.item)}]/`);
}

function purposeOf(reply: Reading): ModelCall["purpose"] {
  if (reply.choice !== undefined) return "route";
  if (reply.verdict !== undefined) return "judge";
  return reply.reflection === undefined ? "work" : "reflect";
}

function replyOf(reply: Reading, { key }: ModelCall): Reply {
  const calls = (reply.calls ?? []).map((call, index): Part => ({ type: "call", id: `${key}/${index}`, ...call }));
  const text = textOf(reply);
  const parts: Part[] = text === "" ? calls : [{ type: "text", text }, ...calls];
  const outputTokens = Math.ceil(JSON.stringify(parts).length / 4);
  return { parts, stop: "end", usage: { inputTokens: 0, cachedTokens: 0, outputTokens } };
}

function textOf(reply: Reading): string {
  const { choice, verdict, reasoning = "", reflection, data, text = "" } = reply;
  if (choice !== undefined) return JSON.stringify({ reason: reasoning, choice });
  if (verdict !== undefined) return `VERDICT: ${verdict}\nREASONING: ${reasoning}`;
  return reflection ?? (data === undefined ? text : JSON.stringify(data));
}
