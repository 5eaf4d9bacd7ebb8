import { compileSchema } from "../../../base/schema/schema.ts";
import { isObject, type JsonObject } from "../../../base/values.ts";
import type { WorkflowNode } from "../../../document/workflow/node.ts";
import { parseAnswer } from "../route.ts";

/** Parses an answer. With `output`, the data must match the schema. Without it, the text is the summary. */
export function readAnswer(
  { output }: WorkflowNode,
  text: string,
): { readonly data: JsonObject; readonly problems: readonly string[] } {
  if (!output) return { data: { summary: text }, problems: [] };
  const value = parseAnswer(text);
  if (!isObject(value)) return { data: { summary: text }, problems: ["the answer is not a JSON object"] };
  return { data: value as JsonObject, problems: compileSchema(output)(value) };
}
