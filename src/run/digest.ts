import { hash } from "node:crypto";
import { jsonOnce, mapped } from "../core/base/values.ts";
import type { Prompt, RunContext, Turn } from "../core/engine/event/prompt.ts";

/** Returns the first 16 hex digits of a prompt's sha256. Hashes a growing context entry by entry, to stay linear. */
export function digestPrompt({ text, context, turns, tools, output }: Prompt): string {
  const parts = [
    text,
    ...(context ? [digestContext(context)] : []),
    turns.length === 0 ? "" : `[${textOfTurns(turns)}]`,
    jsonOnce(tools),
    output ? jsonOnce(output) : "",
  ];
  return hash("sha256", parts.join("\0")).slice(0, 16);
}

/** Serializes turns. Caches all but the last two, which may not be needed again. */
function textOfTurns(turns: readonly Turn[]): string {
  const last = turns.length - 2;
  return mapped(turns, (turn, index) => (index < last ? jsonOnce(turn) : JSON.stringify(turn))).join(",");
}

interface Chain {
  length: number;
  digest: string;
}
const chains = new WeakMap<object, Chain>();

function digestContext({ input, entries, length }: RunContext): string {
  const known = chains.get(entries);
  const chain = known && known.length <= length ? known : { length: 0, digest: jsonOnce(input) };
  for (; chain.length < length; chain.length++) {
    const entry = entries[chain.length];
    chain.digest = hash("sha256", chain.digest + JSON.stringify(entry));
  }
  chains.set(entries, chain);
  return chain.digest;
}
