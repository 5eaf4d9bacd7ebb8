import { defined, type JsonSchema } from "../../base/values.ts";

/** Definition of one of the eight Skills Protocol tools, in the wording of its document. */

interface ProtocolTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
}

/** Conversions to a provider's format. `protocol` is the document's own format. */
export const PROTOCOL_FORMS: Readonly<Record<"protocol" | "openai" | "anthropic", (tool: ProtocolTool) => object>> = {
  protocol: (tool) => tool,
  openai: (tool) => ({ type: "function", function: tool }),
  anthropic: ({ parameters, ...tool }) => ({ ...tool, input_schema: parameters }),
};

const text = (description: string): JsonSchema => ({ type: "string", description });
const texts = (description: string): JsonSchema => ({ type: "array", items: { type: "string" }, description });
const map = (description: string): JsonSchema => ({ type: "object", description });
const count = (description: string, usual?: number): JsonSchema => {
  return { type: "integer", ...defined("default", usual), description };
};
const choice = (allowed: readonly string[], usual: string, description: string): JsonSchema => {
  return { type: "string", enum: allowed, default: usual, description };
};

const NAMED = { name: text("Skill name"), version: text("Skill version (omit for latest)") };

interface ToolRow extends Omit<ProtocolTool, "parameters"> {
  readonly properties: JsonSchema;
  readonly required?: readonly string[];
}

const TOOLS: readonly ToolRow[] = [
  {
    name: "list_skills",
    description: "Enumerate available skills, optionally filtering by namespace. Results are deterministically sorted.",
    properties: {
      namespace: text("Optional namespace to filter skills (e.g., 'salesforce')"),
      detail: choice(["names", "summary"], "names", "Level of detail to return"),
      limit: count("Maximum number of results", 50),
      cursor: text("Pagination cursor from previous response"),
    },
  },
  {
    name: "describe_skill",
    description: "Retrieve a skill's manifest and documentation frontmatter.",
    properties: {
      name: text("Skill name (e.g., 'salesforce.leads.sync')"),
      version: NAMED.version,
      detail: choice(["manifest", "summary", "full"], "summary", "Level of detail to return"),
    },
    required: ["name"],
  },
  {
    name: "read_skill_file",
    description: "Read any file in a skill's directory (e.g., SKILL.md, extra docs, schemas).",
    properties: { ...NAMED, path: text("Path to file within skill directory (e.g., 'SKILL.md')") },
    required: ["name", "path"],
  },
  {
    name: "execute_skill",
    description: "Execute a skill's entrypoint in an ephemeral sandbox.",
    properties: {
      ...NAMED,
      args: map("JSON-serializable arguments to pass to the skill"),
      input_blobs: texts("Blob IDs to mount in the sandbox"),
      timeout_ms: count("Execution timeout in milliseconds"),
    },
    required: ["name"],
  },
  {
    name: "run_code",
    description: "Execute LLM-written code in a sandbox with specified skills and blobs mounted.",
    properties: {
      language: { type: "string", enum: ["python"], description: "Programming language (MVP: python only)" },
      code: text("Source code to execute"),
      entrypoint: { type: "string", default: "main", description: "Function name to call" },
      args: map("Arguments to pass to entrypoint function"),
      mount_skills: texts("Skill names to mount in sandbox"),
      input_blobs: texts("Blob IDs to mount in sandbox"),
      limits: { type: "object", properties: { timeout_ms: { type: "integer" } }, description: "Execution limits" },
    },
    required: ["language", "code"],
  },
  {
    name: "create_blob",
    description: "Store large content as a blob and return its ID.",
    properties: {
      content: text("Content to store"),
      kind: text("MIME type (e.g., 'text/plain', 'application/json')"),
    },
    required: ["content", "kind"],
  },
  {
    name: "read_blob",
    description: "Retrieve a preview of blob content. Full reads discouraged for large blobs.",
    properties: {
      blob_id: text("Blob identifier"),
      mode: choice(["sample_head", "sample_tail", "full"], "sample_head", "How to sample the blob"),
      max_bytes: count("Maximum bytes to return", 2000),
    },
    required: ["blob_id"],
  },
  {
    name: "load_skills_protocol_guide",
    description:
      "Load the Skills Protocol Guide to learn how to use these tools. Call this first if you haven't read the guide yet.",
    properties: {},
  },
];

export const PROTOCOL_TOOLS: readonly ProtocolTool[] = TOOLS.map(({ properties, required, ...tool }) => ({
  ...tool,
  parameters: { type: "object", properties, ...defined("required", required) },
}));
