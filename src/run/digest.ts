import { createHash } from "node:crypto";
import type { Prompt, RunContext } from "../core/prompt.ts";
import { jsonOnce } from "../core/values.ts";

/** sha256 of a prompt, first 16 hexadecimal digits. Linear over a run: a growing context is digested entry by entry. */
export function digestPrompt(prompt: Prompt): string {
  const hash = createHash("sha256").update(prompt.text);
  if (prompt.context) hash.update("\0").update(digestContext(prompt.context));
  hash.update("\0").update(prompt.turns.length === 0 ? "" : `[${prompt.turns.map(jsonOnce).join(",")}]`);
  hash.update("\0").update(jsonOnce(prompt.tools));
  hash.update("\0").update(prompt.output ? jsonOnce(prompt.output) : "");
  return hash.digest("hex").slice(0, 16);
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
    chain.digest = createHash("sha256").update(chain.digest).update(JSON.stringify(entry)).digest("hex");
  }
  chains.set(entries, chain);
  return chain.digest;
}
