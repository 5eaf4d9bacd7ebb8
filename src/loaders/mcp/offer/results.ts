import type { CallToolResult } from "@modelcontextprotocol/client";
import { hasCode } from "../../../core/base/errors.ts";
import { type Json, parseJson } from "../../../core/base/values.ts";
import { type Keeping, readBlocks } from "./blocks.ts";

/** Returns a call's result as data for the model. Throws if the call failed. */
export async function readResult(
  result: CallToolResult,
  { hasSchema, ...keeping }: Keeping & { readonly hasSchema: boolean },
): Promise<Json> {
  const { content, structuredContent, isError } = result;
  if (isError) {
    const said = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
    throw new Error(said || "the tool failed and gave no reason");
  }
  if (structuredContent !== undefined) return structuredContent as Json;
  const blocks = await readBlocks(content, keeping);
  const [only, ...others] = blocks;
  if (only === undefined) return null;
  if (others.length > 0 || only.type !== "text") return blocks;
  const text = String(only.text);
  return hasSchema ? (parseJson(text) ?? text) : text;
}

type Sdk = typeof import("@modelcontextprotocol/client");

/** Returns the status of an HTTP answer; the older transport calls it a code. */
export function statusOf(error: unknown): number | undefined {
  const { status, code } = (error ?? {}) as { readonly status?: unknown; readonly code?: unknown };
  return [status, code].filter((one) => typeof one === "number").find((one) => one >= 400 && one < 600);
}

/**
 * Returns true if the request had no effect: it was not sent, or the server has forgotten our session. Some servers
 * answer 400 in that case, where 404 is meant.
 */
export function isUntouched(error: unknown): boolean {
  const status = statusOf(error);
  return status === 404 || status === 400 || hasCode(error, "NOT_CONNECTED");
}

/**
 * JSON-RPC: parse error, invalid request, method not found. Each is found before the method runs. Invalid params (-32602)
 * is not among them: a handler may answer it after it has acted.
 */
export const REFUSALS: readonly number[] = [-32_700, -32_600, -32_601];

export function isRefused(sdk: Sdk, error: unknown): boolean {
  if (error instanceof sdk.ProtocolError) return REFUSALS.includes(error.code);
  const status = statusOf(error) ?? (error instanceof sdk.UnauthorizedError ? 401 : 500);
  return status < 500 && status !== 408;
}
