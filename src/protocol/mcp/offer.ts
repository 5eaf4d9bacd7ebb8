import type { CallToolResult, Tool } from "@modelcontextprotocol/server";
import { invokeSkill, type OfferedSkill, offeredSkills, readOn } from "../../app/calls/call-skill.ts";
import { environmentRedactor } from "../../app/secrets.ts";
import type { SkillEntry } from "../../app/workspace.ts";
import { SkillflowError } from "../../core/base/errors.ts";
import { schemaProblems } from "../../core/base/schema/schema.ts";
import type { Json, JsonObject } from "../../core/base/values.ts";
import type { Observer } from "../../core/engine/ports.ts";
import { nameTools } from "../../core/engine/tools/disclosure.ts";
import { BLOB_TOOLS } from "../../core/engine/tools/own-tools.ts";
import { describeMisfit } from "../../core/skill/formats/contract.ts";
import { describeTools, type Outcome, refusedCall, type ToolDescriptor } from "../../core/skill/skill.ts";
import { numberNames } from "../../core/skill/tool-names.ts";
import { publishSkills } from "../publishing/published.ts";
import { describedInput } from "./parameter-texts.ts";
import { linkTo } from "./resources.ts";
import {
  describeWorkflow,
  type OfferedWorkflow,
  type RunWorld,
  runWorkflow,
  workflowToolName,
  writesOf,
} from "./workflows.ts";

/** Tools and skills offered to MCP clients, collected once. */

export type Offer = Awaited<ReturnType<typeof openOffer>>;

export function isBusy(error: unknown): error is SkillflowError {
  return error instanceof SkillflowError && error.code === "calls.full";
}

interface Calling {
  readonly signal: AbortSignal;
  readonly observers: readonly Observer[];
}

interface OfferWorld extends RunWorld {
  readonly workflows: readonly OfferedWorkflow[];
  readonly signal: AbortSignal;
}

/** Collects the offer: finds skills, imports the modules of trusted ones and lists their servers' tools. */
export async function openOffer(world: OfferWorld) {
  const { workspace, choices, signal } = world;
  const { offered, warnings } = await offeredSkills(workspace, {
    offline: choices.offline,
    frozen: choices.frozen,
    signal,
  });
  const wanted = [
    ...offered.flatMap((skill) => toolsOf(skill, world)),
    ...world.workflows.map((workflow) => workflowTool(workflow, world)),
    ...BLOB_TOOLS.map((tool) => blobTool(tool, world)),
  ];
  const names = numberNames(wanted.map(({ name }) => name));
  const tools = wanted.map((tool, index) => [names[index] ?? tool.name, tool] as const);
  const renamed = tools.filter(([name, tool]) => name !== tool.name);
  const withInstruction = offered.filter(({ entry }) => entry.skill.instruction);
  const entries = offered.map(({ entry }) => entry);
  const published = await publishSkills(entries, workspace.skills);
  return {
    published,
    tools: new Map(tools.map(([name, tool]) => [name, { ...tool, definition: { ...tool.definition, name } }])),
    skills: new Map(withInstruction.map(({ entry }) => [entry.skill.id, withToolNames(entry)])),
    redactor: environmentRedactor(workspace, entries),
    warnings: [
      ...warnings,
      ...published.warnings,
      ...renamed.map(([name, { name: own, from }]) => `${own} of ${from} is offered as ${name}: the name is taken`),
    ],
  };
}

function withToolNames(entry: SkillEntry): SkillEntry {
  const { skill } = entry;
  const instruction = nameTools(skill.instruction ?? "", describeTools(skill, skill.tools));
  return { ...entry, skill: { ...skill, instruction } };
}

/** Tool with its preferred name, before conflicts are resolved. */
interface WantedTool {
  readonly name: string;
  readonly from: string;
  readonly definition: Tool;
  call(input: JsonObject, call: Calling): Promise<CallToolResult>;
}

function toolsOf({ entry, tools }: OfferedSkill, world: OfferWorld): WantedTool[] {
  const hidesWrites = writesOf(world.workspace, world.choices) !== "allow";
  // MCP accepts only object schemas.
  const offered = tools.filter(({ effect, input_schema: { type = "object" } }) => {
    return type === "object" && (!hidesWrites || effect === "read");
  });
  return offered.map((tool) => ({
    name: tool.exposed,
    from: `skill ${entry.skill.id}`,
    definition: describeTool(
      entry.skill.name,
      entry.isBuiltin ? { ...tool, input_schema: describedInput(tool, tools) } : tool,
    ),
    call: (input, { signal }) => {
      const effects = hidesWrites ? { effects: "read" as const } : {};
      return callTool(world, tool, { skill: tool.skill, tool: tool.name, arguments: input, ...effects, signal });
    },
  }));
}

function describeTool(skill: string, tool: ToolDescriptor): Tool {
  const { exposed, name, description, input_schema, output_schema, effect, idempotent } = tool;
  const title = `${skill}: ${name.replace(/[_-]+/g, " ")}`;
  return {
    name: exposed,
    title,
    description,
    inputSchema: { ...input_schema, type: "object" } as Tool["inputSchema"],
    ...(output_schema ? { outputSchema: output_schema as NonNullable<Tool["outputSchema"]> } : {}),
    annotations: {
      title,
      readOnlyHint: effect === "read",
      destructiveHint: effect === "write",
      idempotentHint: idempotent,
    },
  };
}

const TIMEOUT_MS = 60_000;
/** Limit for results that clients check against a schema. A blob reference would not match the schema. */
const MOST_STRUCTURED = 1024 * 1024;

async function callTool(
  { workspace, choices, blobs, loggerFor }: OfferWorld,
  { output_schema }: ToolDescriptor,
  { signal, ...call }: Parameters<typeof invokeSkill>[1] & Pick<Calling, "signal">,
): Promise<CallToolResult> {
  const outcome = await invokeSkill(workspace, call, {
    timeoutMs: choices.toolTimeout ?? TIMEOUT_MS,
    signal,
    loggerFor,
    blobs,
    offline: choices.offline,
    frozen: choices.frozen,
    ...(output_schema ? { mostResult: MOST_STRUCTURED } : {}),
  });
  return describeOutcome(outcome, output_schema);
}

function describeOutcome(outcome: Outcome, schema: ToolDescriptor["output_schema"]): CallToolResult {
  if ("error" in outcome) return { isError: true, content: [{ type: "text", text: outcome.error }] };
  const { output, blobs = [] } = outcome;
  const content: CallToolResult["content"] = [{ type: "text", text: textOf(output) }, ...blobs.map(linkTo)];
  if (!schema) return { content };
  const problems = schemaProblems(schema, output);
  return problems.length > 0 ? { isError: true, content } : { content, structuredContent: output };
}

function textOf(output: Json): string {
  return typeof output === "string" ? output : JSON.stringify(output);
}

function workflowTool(offered: OfferedWorkflow, world: OfferWorld): WantedTool {
  const name = workflowToolName(offered.workflow);
  return {
    name,
    from: `workflow ${offered.workflow.id}`,
    definition: describeWorkflow(name, offered),
    call: (input, calling) => runWorkflow(world, offered, { input, ...calling }),
  };
}

function blobTool(tool: ToolDescriptor, { blobs }: OfferWorld): WantedTool {
  return {
    name: tool.exposed,
    from: "skillflow itself",
    definition: describeTool("Large results", { ...tool, input_schema: describedInput(tool, []) }),
    async call(input, { signal }) {
      const problems = schemaProblems(tool.input_schema, input);
      const misfit = refusedCall(describeMisfit("invalid_input", problems), "input.invalid");
      const outcome = problems.length > 0 ? misfit : await readOn({ name: tool.name, input }, { blobs, signal });
      return describeOutcome(outcome, undefined);
    },
  };
}
