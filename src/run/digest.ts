import { hash } from "node:crypto";
import { jsonOnce } from "../core/base/values.ts";
import type { Prompt, RunContext, Turn } from "../core/engine/event/prompt.ts";

/** Returns the first 16 hex digits of a prompt's sha256. Hashes a growing context entry by entry, to stay linear. */
export function digestPrompt({ text, context, turns, tools, output }: Prompt): string {
  const parts = [
    text,
    ...(context ? [digestContext(context)] : []),
    turns.length === 0 ? "" : `[${turns.map(textOfTurn).join(",")}]`,
    jsonOnce(tools),
    output ? jsonOnce(output) : "",
  ];
  return hash("sha256", parts.join("\0")).slice(0, 16);
}

/** Serializes a turn. Caches all but the last two, which may not be needed again. */
function textOfTurn(turn: Turn, index: number, { length }: readonly Turn[]): string {
  return index < length - 2 ? jsonOnce(turn) : JSON.stringify(turn);
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
