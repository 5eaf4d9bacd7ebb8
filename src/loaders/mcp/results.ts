import type { CallToolResult } from "@modelcontextprotocol/client";
import { type Json, parseJson } from "../../core/values.ts";
import { readBlock } from "./blocks.ts";
import type { Links } from "./links.ts";

interface Reading {
  /** Of the tool's results. */
  readonly hasSchema: boolean;
  readonly links: Links | undefined;
}

/** What a call came to, as data for the model. Throws what failed. */
export function readResult(result: CallToolResult, { hasSchema, links }: Reading): Json {
  const { content, structuredContent, isError } = result;
  if (isError) throw new Error(failureText(content) || "the tool failed and did not say why");
  if (structuredContent !== undefined) return structuredContent as Json;
  const blocks = content.map((block) => readBlock(block, links));
  const [only, ...others] = blocks;
  if (only === undefined) return null;
  if (others.length > 0 || only.type !== "text") return blocks;
  const text = String(only.text);
  return hasSchema ? (parseJson(text) ?? text) : text;
}

function failureText(content: CallToolResult["content"]): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
