import { checkedAs, type Json, type JsonObject, parseJson } from "../../base/values.ts";
import { parameterSchema } from "../../skill/formats/parameter-map.ts";
import type { Tool, ToolDescriptor } from "../../skill/skill.ts";
import { exposedName } from "../../skill/tool-names.ts";
import type { Call, MadeTool } from "../event/call.ts";
import type { EventBody } from "../event/event.ts";
import { RESERVED_TOOLS } from "./own-tools.ts";

/** Tools that a run defines for itself: the rules, and how a definition becomes a tool. */

export const TOOL_MAKER = "tool-maker";
const DEFINE = "define_tool";
const REMOVE = "remove_tool";

const MOST_NAME = 64;
const MOST_DESCRIPTION = 1024;
const MOST_CODE = 100_000;

/** Both tools are idempotent, so a killed run may repeat them. */
export const MAKER_TOOLS: readonly Omit<Tool, "handler" | "audience">[] = [
  {
    name: DEFINE,
    description:
      "Defines a tool, or redefines it. You can call it from your next turn on, by the name in the result. It runs in isolation, without network and secrets. It can read the working directory, and write to a temporary folder (TMPDIR) that is deleted after the call.",
    effect: "write",
    idempotent: true,
    input_schema: {
      type: "object",
      properties: {
        name: { type: "string", description: "Lowercase letters, digits and underscores, starting with a letter" },
        description: { type: "string", description: "What the tool does", maxLength: MOST_DESCRIPTION },
        parameters: {
          type: "string",
          description:
            'JSON text of the parameters: {"city": {"type": "string", "description": "…", "optional": true}}; types are string, number, boolean, object and array',
        },
        code: {
          type: "string",
          description: "JavaScript body of `async function handler(args) { … }`. The return value is the result",
          maxLength: MOST_CODE,
        },
        persistent: { description: '"true" also stores the tool as a skill of the project' },
      },
      required: ["name", "description", "code"],
    },
  },
  {
    name: REMOVE,
    description:
      "Removes a tool that was defined with define_tool, and its stored skill. Other tools cannot be removed.",
    effect: "write",
    idempotent: true,
    input_schema: {
      type: "object",
      properties: { name: { type: "string", description: "Name from the definition of the tool" } },
      required: ["name"],
    },
  },
];

/** Explains why a valid input is rejected. `present` are all tools of the node. */
export function makingProblem(tool: ToolDescriptor, input: Json, present: readonly ToolDescriptor[]) {
  if (isMaker(tool, DEFINE)) return definitionProblem(checkedAs<Definition>(input), present);
  if (!isMaker(tool, REMOVE)) return undefined;
  const name = removedName(input);
  if (isProtected(name, present)) return `${name} was not defined with define_tool, so it cannot be removed`;
  return isToolName(name) ? undefined : `${JSON.stringify(name)} is not a valid tool name`;
}

/** Validates a tool name. It becomes part of file paths, so check it before any other use. */
function isToolName(name: string): boolean {
  return /^[a-z][a-z0-9_]*$/.test(name) && name.length <= MOST_NAME;
}

interface Definition {
  readonly name: string;
  readonly description: string;
  readonly parameters?: string;
  readonly code: string;
  readonly persistent?: Json;
}

function definitionProblem(definition: Definition, present: readonly ToolDescriptor[]): string | undefined {
  const { name, description, code, persistent } = definition;
  if (!isToolName(name)) {
    return `"${name}" is not a valid tool name: use lowercase letters, digits and underscores, starting with a letter, ${MOST_NAME} at most`;
  }
  if (isProtected(name, present)) return `${name} is the name of an existing tool: use another name`;
  if (isTrue(persistent) && !/^[a-z0-9]+(_[a-z0-9]+)*$/.test(name)) {
    return `${name} cannot be stored: ${skillOf(name)} is not a valid skill id. Use single underscores, between letters and digits`;
  }
  if (description.trim() === "") return "the description is empty";
  if (code.trim() === "") return "the code is empty";
  const schema = schemaOf(definition);
  return typeof schema === "string" ? schema : undefined;
}

/** Reports whether a name belongs to a tool that no run defined. */
function isProtected(name: string, present: readonly ToolDescriptor[]): boolean {
  if (RESERVED_TOOLS.includes(name)) return true;
  const exposed = exposedName(TOOL_MAKER, name);
  return present.some((tool) => {
    if (tool.skill === TOOL_MAKER) return tool.name !== name && tool.exposed === exposed;
    return [tool.name, tool.exposed].includes(name) || tool.exposed === exposed;
  });
}

function schemaOf({ parameters = "" }: Definition): JsonObject | string {
  const map = parameters.trim() === "" ? {} : parseJson(parameters);
  return map === undefined ? "the parameters are not valid JSON" : parameterSchema(map);
}

function isTrue(value: Json | undefined): boolean {
  return value === true || value === "true";
}

/** Returns the id of the skill that stores a tool: `fetch-weather` for `fetch_weather`. */
export function skillOf(tool: string): string {
  return tool.replaceAll("_", "-");
}

/** Builds the tool of a checked definition. It counts as a write, and must not be repeated. */
export function makeTool(input: Json): MadeTool {
  const definition = checkedAs<Definition>(input);
  const { name, description, parameters = "", code, persistent } = definition;
  const schema = schemaOf(definition);
  return {
    tool: {
      skill: TOOL_MAKER,
      name,
      exposed: exposedName(TOOL_MAKER, name),
      description,
      input_schema: typeof schema === "string" ? { type: "object" } : schema,
      effect: "write",
      idempotent: false,
    },
    parameters: (parseJson(parameters) ?? {}) as JsonObject,
    code,
    persistent: isTrue(persistent),
  };
}

export function madeFor(tool: ToolDescriptor, input: Json, made: readonly MadeTool[]): MadeTool | undefined {
  if (tool.skill !== TOOL_MAKER) return undefined;
  const name = isMaker(tool, REMOVE) ? removedName(input) : tool.name;
  return made.find((candidate) => candidate.tool.name === name);
}

export function makingEvents(node: string, { tool, input, key }: Call): EventBody[] {
  if (isMaker(tool, DEFINE)) return [{ type: "tool:defined", node, ...makeTool(input), id: key }];
  if (!isMaker(tool, REMOVE)) return [];
  return [{ type: "tool:removed", node, name: removedName(input), id: key }];
}

/** Returns the name of the tool to remove. Also accepts the exposed name, which `define_tool` returns. */
export function removedName(input: Json): string {
  const { name } = checkedAs<Pick<Definition, "name">>(input);
  const prefix = `${TOOL_MAKER}_`;
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

export function isMaker({ skill, name }: ToolDescriptor, which: typeof DEFINE | typeof REMOVE): boolean {
  return skill === TOOL_MAKER && name === which;
}
