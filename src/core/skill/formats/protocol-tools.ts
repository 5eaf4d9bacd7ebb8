import type { JsonSchema } from "../../base/values.ts";
import tools from "./protocol-tools.json" with { type: "json" };

/** Definition of one of the eight Skills Protocol tools, in the wording of its document. */
interface ProtocolTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
}

const TOOLS: Readonly<Record<string, Omit<ProtocolTool, "name">>> = tools;
export const PROTOCOL_TOOLS: readonly ProtocolTool[] = Object.entries(TOOLS).map(([name, tool]) => ({ name, ...tool }));

/** Conversions to a provider's format. `protocol` is the document's own format. */
export const PROTOCOL_FORMS: Readonly<Record<"protocol" | "openai" | "anthropic", (tool: ProtocolTool) => object>> = {
  protocol: (tool) => tool,
  openai: (tool) => ({ type: "function", function: tool }),
  anthropic: ({ parameters, ...tool }) => ({ ...tool, input_schema: parameters }),
};
