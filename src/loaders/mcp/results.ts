import type { CallToolResult } from "@modelcontextprotocol/client";
import { type Json, parseJson } from "../../core/values.ts";
import { type Keeping, readBlocks } from "./blocks.ts";

interface Reading extends Keeping {
  /** Of the tool's results. */
  readonly hasSchema: boolean;
}

/** What a call came to, as data for the model. Throws what failed. */
export async function readResult(result: CallToolResult, { hasSchema, ...keeping }: Reading): Promise<Json> {
  const { content, structuredContent, isError } = result;
  if (isError) throw new Error(failureText(content) || "the tool failed and did not say why");
  if (structuredContent !== undefined) return structuredContent as Json;
  const blocks = await readBlocks(content, keeping);
  const [only, ...others] = blocks;
  if (only === undefined) return null;
  if (others.length > 0 || only.type !== "text") return blocks;
  const text = String(only.text);
  return hasSchema ? (parseJson(text) ?? text) : text;
}

function failureText(content: CallToolResult["content"]): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
