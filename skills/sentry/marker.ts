import { createHash } from "node:crypto";
import type { ToolContext } from "skillflow";

/**
 * A line, invisible where Markdown is shown, that names the call which wrote a comment: the same call, made again, finds
 * its own work. The digest keeps calls of other runs apart that bear the same id.
 */
export function markerOf(context: ToolContext, input: unknown): string {
  const digest = createHash("sha256").update(JSON.stringify(input)).digest("hex").slice(0, 12);
  const call = encodeURIComponent(context.callId).replaceAll("-", "%2D").slice(0, 200);
  return `<!-- skillflow:${call}:${digest} -->`;
}

export function withoutMarkers(text: string): string {
  return text.replace(/\n*<!-- skillflow:[^\s>]+ -->/g, "");
}
