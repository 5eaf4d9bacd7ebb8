import type { CallToolResult } from "@modelcontextprotocol/client";
import { type Json, parseJson } from "../../core/values.ts";

/** What a call came to, as data for the model: the bytes of images and files are counted, not shown. Throws what failed. */
export function readResult({ content, structuredContent, isError }: CallToolResult, hasSchema: boolean): Json {
  const blocks = content.map(readBlock);
  const [only, ...others] = blocks;
  if (isError) throw new Error(failureText(content) || "the tool failed and did not say why");
  if (structuredContent !== undefined) return structuredContent as Json;
  if (only === undefined) return null;
  if (others.length > 0 || only.type !== "text") return blocks;
  const text = String(only.text);
  return hasSchema ? (parseJson(text) ?? text) : text;
}

function failureText(content: CallToolResult["content"]): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

function readBlock(block: CallToolResult["content"][number]): { readonly [key: string]: Json } {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
    case "audio":
      return { type: block.type, mimeType: block.mimeType, bytes: byteCount(block.data) };
    case "resource_link":
      return { type: "resource_link", uri: block.uri, name: block.name };
    case "resource": {
      const { uri, mimeType, ...body } = block.resource;
      const head = { type: "resource", uri, ...(mimeType === undefined ? {} : { mimeType }) };
      return "text" in body ? { ...head, text: String(body.text) } : { ...head, bytes: byteCount(String(body.blob)) };
    }
  }
}

function byteCount(base64: string): number {
  return Buffer.byteLength(base64, "base64");
}
