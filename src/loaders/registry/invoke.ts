import { NothingDone, SkillflowError } from "../../core/base/errors.ts";
import { type Json, toJson } from "../../core/base/values.ts";
import { describeMisfit } from "../../core/skill/formats/contract.ts";
import type { Tool, ToolContext } from "../../core/skill/skill.ts";
import { callHandler } from "../../core/skill/skill.ts";
import { describeAbsence, instanceOf, parseSkillReference } from "../../core/skill/skill-reference.ts";
import type { Invocation, Invoke, LoaderHost } from "../folder/host.ts";
import { UNCONNECTED } from "../mcp/call.ts";
import { calledTool, handlerConfig } from "./entry.ts";
import type { SkillEntry, SkillSet } from "./skill-set.ts";

export type Chosen = Awaited<ReturnType<typeof chooseTool>>;

/**
 * Finds the skill and the tool of an invocation. Throws if they cannot be called. `misfit` is the mismatch between the
 * arguments and the schema. If set, the call is not made.
 */
export async function chooseTool(set: Pick<SkillSet, "find">, call: Invocation) {
  const entry = await findCallable(set, call);
  const tool = calledTool(entry, call.tool);
  if (!tool) throw new SkillflowError("tool.unknown", `skill ${call.skill} has no tool ${call.tool ?? "to call"}`);
  if (call.effects === "read" && tool.effect === "write") {
    const why = `the tool ${tool.name} of ${call.skill} may write, and only reading is allowed here`;
    throw new SkillflowError("call.refused", why);
  }
  const { schemaProblems } = await import("../../core/base/schema/schema.ts");
  const { misfitOf } = await import("../../core/engine/tools/tool-input.ts");
  if (tool.dialect) return { entry, tool, misfit: misfitOf(tool, call.arguments) };
  const problems = schemaProblems(tool.input_schema, call.arguments);
  return { entry, tool, misfit: problems.length > 0 ? describeMisfit("invalid_input", problems) : undefined };
}

async function findCallable({ find }: Pick<SkillSet, "find">, { skill, version }: Invocation): Promise<SkillEntry> {
  const isPlain = version === undefined || instanceOf(skill) !== undefined;
  const reference = isPlain ? skill : `${parseSkillReference(skill).id}@${version}`;
  const refuse = (why: string) => new SkillflowError("tool.unknown", `skill ${reference} cannot be called: ${why}`);
  const entry = await find(reference);
  if (!entry) throw refuse(describeAbsence(reference));
  // A lack may not concern this call, such as one that names another git repository. The tool itself reports it.
  const lack = entry.isLacking ? undefined : entry.unavailable?.reason;
  const reason = lack ?? (entry.skill.tools.length > 0 ? undefined : entry.withheld);
  if (reason !== undefined) throw refuse(reason);
  return entry;
}

/** Calls that led to a context, and the effect that it allows. */
const callers = new WeakMap<ToolContext, { readonly chain: readonly string[]; readonly effects: Tool["effect"] }>();

/** Wraps a tool so that calls that it makes, directly or not, are read-only if the tool is. */
export function holdToEffect(tool: Tool): Tool {
  const handler: Tool["handler"] = (input, context) => {
    const { chain = [], effects = "write" } = callers.get(context) ?? {};
    const held = { ...context };
    callers.set(held, { chain, effects: effects === "read" ? effects : tool.effect });
    return tool.handler(input, held);
  };
  return { ...tool, handler };
}

/** Returns the effect ceiling of a call: at most that of the call that makes it. */
export function ceilingOf(call: Pick<Invocation, "effects">, context: ToolContext): { readonly effects?: "read" } {
  return call.effects === "read" || callers.get(context)?.effects === "read" ? { effects: "read" } : {};
}

/** Creates the function for calls between skills of any format. Circular calls are refused. */
export function createInvoke(set: SkillSet, host: LoaderHost): Invoke {
  return async (given, context) => {
    const call = { ...given, ...ceilingOf(given, context) };
    const chain = [...(callers.get(context)?.chain ?? []), `${call.skill}/${call.tool ?? ""}`];
    if (new Set(chain).size < chain.length) {
      const circle = chain.map((step) => step.replace(/\/$/, "")).join(" -> ");
      throw new SkillflowError("call.refused", `skills call each other in a circle: ${circle}`);
    }
    const server = await serverCall(set, call);
    if (server) return callServer(host, server, call, context);
    const { entry, tool, misfit } = await chooseTool(set, call);
    if (misfit !== undefined) throw new NothingDone(misfit);
    const inner = { ...context, config: handlerConfig(entry) };
    callers.set(inner, { chain, effects: call.effects ?? "write" });
    return checkedOutput(tool, toJson(await callHandler(tool, call.arguments, inner)));
  };
}

/** Returns the skill if its server must handle the call. Undefined if the skill itself has the tool. */
async function serverCall(set: SkillSet, call: Invocation): Promise<SkillEntry | undefined> {
  const entry = await set.find(call.skill);
  const isOwn = entry?.skill.tools.some(({ name }) => name === call.tool);
  return entry?.skill.mcp && entry.unavailable === undefined && call.tool !== undefined && !isOwn ? entry : undefined;
}

function callServer(
  { callMcp, env }: LoaderHost,
  { skill, contents }: SkillEntry,
  call: Invocation,
  context: ToolContext,
) {
  const { tool = "", effects } = call;
  if (!callMcp || !skill.mcp) throw new SkillflowError("call.refused", UNCONNECTED);
  contents?.check();
  const { workDir: cwd } = context;
  return callMcp({ id: skill.id, server: skill.mcp, tool, arguments: call.arguments, env, cwd, effects }, context);
}

/** Throws if the result does not match the tool's output schema. */
async function checkedOutput({ output_schema }: Tool, output: Json): Promise<Json> {
  if (!output_schema) return output;
  const { schemaProblems } = await import("../../core/base/schema/schema.ts");
  const problems = schemaProblems(output_schema, output);
  if (problems.length > 0) throw new SkillflowError("output.invalid", describeMisfit("invalid_output", problems));
  return output;
}
