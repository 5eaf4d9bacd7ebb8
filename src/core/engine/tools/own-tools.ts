import type { JsonObject } from "../../base/values.ts";
import { EXECUTOR, type ToolDescriptor } from "../../skill/skill.ts";
import { alike, exposedName } from "../../skill/tool-names.ts";

/** The executor's own tools. Core describes them, and `src/app/calls/own-tools.ts` runs them. */

/** Describes a tool by its parameters and those that are required. Unless `facts` differ, it reads and is idempotent. */
export function ownTool(
  [name, description]: readonly [name: string, description: string],
  [properties, required]: readonly [properties: JsonObject, required: readonly string[]],
  facts: Partial<ToolDescriptor> = {},
): ToolDescriptor {
  return {
    ...{ skill: EXECUTOR, name, exposed: name, description, effect: "read", idempotent: true },
    input_schema: { type: "object", properties, required, additionalProperties: false },
    ...facts,
  };
}

type Named = Pick<ToolDescriptor, "skill" | "name">;

/** Creates a check whether a tool is one of a skill's tools with these names. */
export function isToolOf(skill: string, ...names: readonly string[]) {
  return (tool: Named) => tool.skill === skill && names.includes(tool.name);
}
export const isOwn = (...names: readonly string[]) => isToolOf(EXECUTOR, ...names);

export const READ_SKILL = "read_skill";
export const isReadSkill = isOwn(READ_SKILL);
export const RUN_SCRIPT = "run_script";

// ---- results of earlier calls

export const READ_RESULT = "read_result";

export interface ReadResult {
  readonly ref: string;
  readonly offset?: number;
  readonly search?: string;
}

export const READ_RESULT_TOOL = ownTool(
  [
    READ_RESULT,
    "Reads the whole result of an earlier call of this run, from any node, without calling the service again.",
  ],
  [
    {
      ref: { type: "string", pattern: "^\\[?r[1-9][0-9]*\\]?$", description: "The result's reference, such as r7" },
      offset: { type: "integer", minimum: 0, description: "Start at this byte. Default 0" },
      search: { type: "string", minLength: 1, maxLength: 500, description: "Only the lines that contain this text" },
    },
    ["ref"],
  ],
);

export const isReadResult = isOwn(READ_RESULT);

/** Converts `[r7]` to `r7`. */
export function plainRef(ref: string): string {
  return ref.replace(/^\[|\]$/g, "");
}

// ---- blobs

export const BLOB_ID = /^blob:[0-9a-f]{32}$/;

const blob_id = { type: "string", pattern: BLOB_ID.source, description: "blob_id from a result" };

/** Tools that are offered once a run contains a blob. */
export const BLOB_TOOLS: readonly [ToolDescriptor, ...ToolDescriptor[]] = [
  ownTool(
    ["read_blob", "Reads a part of a large result that is stored as a blob: from a line, a byte, or the end."],
    [
      {
        blob_id,
        line: { type: "integer", minimum: 1, description: "start at this line" },
        offset: { type: "integer", description: "start at this byte; a negative number counts from the end" },
        max_bytes: {
          type: "integer",
          minimum: 1,
          maximum: 32_768,
          description: "maximum number of bytes, default 4000",
        },
      },
      ["blob_id"],
    ],
  ),
  ownTool(
    ["search_blob", "Finds the lines of a blob that contain a text or match a pattern, with their line numbers."],
    [
      {
        blob_id,
        query: { type: "string", minLength: 1, maxLength: 500, description: "text or pattern to find" },
        regex: { type: "boolean", description: "treat `query` as a JavaScript regular expression" },
        ignore_case: { type: "boolean" },
        context: { type: "integer", minimum: 0, maximum: 10, description: "lines shown before and after each match" },
        max_matches: {
          ...{ type: "integer", minimum: 1, maximum: 200 },
          description: "default 20; `total` in the result counts all",
        },
      },
      ["blob_id", "query"],
    ],
  ),
];

// ---- boards: tools that only steps call, to join what other steps read, and to summarize what a map judged

export const BOARD_READ = "board_read";
export const BOARD_DIGEST = "board_digest";

const text = { type: "string" };
const texts = { type: "array", items: text };
const objects = { type: "array", items: { type: "object" } };
const count = { type: "integer", minimum: 0 };

function output(properties: JsonObject) {
  const output_schema = { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
  return { output_schema };
}

export const BOARD_TOOLS: readonly ToolDescriptor[] = [
  ownTool(
    [
      BOARD_READ,
      "Joins the lists of the trackers into one board, by exception, frame, service and release. Fails if none was read.",
    ],
    [
      { lists: { type: "object", description: "Results by step, such as sentry and sentry_2" }, trackers: texts },
      ["lists"],
    ],
    output({ source: text, issues: objects, left: count, gaps: texts }),
  ),
  ownTool(
    [BOARD_DIGEST, "Summarizes the judged items of a map over a board, and counts the others."],
    [{ items: objects, left: count, board: { type: "object" } }, ["items"]],
    output({ verdict: text, headline: text, lines: texts, first_step: { type: ["string", "null"] }, text }),
  ),
];

export const isBoardTool = isOwn(BOARD_READ, BOARD_DIGEST);

// ---- names

export const STATE_GET = "state_get";
export const STATE_SEARCH = "state_search";
export const STATE_PUT = "state_put";
export const STATE_TOOLS: readonly string[] = [STATE_GET, STATE_SEARCH, STATE_PUT];

/** Names of built-in tools. No skill's tool may be offered under them. */
export const OWN_TOOLS: readonly string[] = [
  READ_SKILL,
  RUN_SCRIPT,
  READ_RESULT,
  ...BLOB_TOOLS.map((tool) => tool.exposed),
  ...STATE_TOOLS,
  ...BOARD_TOOLS.map((tool) => tool.exposed),
];

/** Short names that a skill's tool must not have. */
export const RESERVED_TOOLS: readonly string[] = [...OWN_TOOLS, "run_code", "define_tool", "remove_tool"];

/** Reports whether a skill's tool has the name of a built-in tool, by its short or exposed name. */
export function isReservedTool(skill: string, tool: string): boolean {
  return RESERVED_TOOLS.includes(alike(tool)) || OWN_TOOLS.includes(alike(exposedName(skill, tool)));
}

/** Explains why a skill is rejected for its id or the exposed names of its tools, if it is. */
export function reservedName(skill: string, exposed: readonly string[]): string | undefined {
  if (skill === EXECUTOR) return `the id ${EXECUTOR} is reserved for skillflow's own tools`;
  const taken = exposed.find((name) => OWN_TOOLS.includes(name));
  return taken && `its tool would be offered as ${taken}, which is the name of one of skillflow's own tools`;
}

export function describeReserved(tool: string): string {
  return `the tool ${tool} is left out: skillflow has its own tool with this name`;
}
