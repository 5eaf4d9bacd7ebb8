import { type Outcome, refusedCall, type Tool, type ToolContext } from "../../core/skill/skill.ts";
import type { SkillEntry } from "../../loaders/registry/skill-set.ts";
import { memoryBlobs } from "../../stores/blobs.ts";
import { callTool, listServers } from "../calls/call-skill.ts";
import type { Workspace } from "../host.ts";
import { SILENT_LOGGER } from "../runs/drive.ts";
import { environmentRedactor } from "../secrets.ts";

/** Runs a skill's read-only probe and checks that its MCP server answers. Undefined for a skill with neither. */
export async function probeSkill(
  workspace: Workspace,
  entry: SkillEntry,
  timeoutMs: number,
): Promise<Outcome | undefined> {
  const served = entry.skill.mcp ? await probeServer(workspace, entry) : undefined;
  const probed = await runProbe(workspace, entry, timeoutMs);
  return served && "error" in served ? served : (probed ?? served);
}

async function probeServer(workspace: Workspace, entry: SkillEntry): Promise<Outcome> {
  const { skill } = entry;
  const { entries, warnings } = await listServers(workspace, [entry], { signal: new AbortController().signal });
  const reached = entries.get(skill.id);
  if (reached?.unavailable) return refusedCall(reached.unavailable.reason, "server.failed");
  const count = (reached?.skill.tools.length ?? 0) - skill.tools.length;
  return { output: [`tools of its MCP server: ${count}`, ...warnings].join("; ") };
}

async function runProbe(workspace: Workspace, entry: SkillEntry, timeoutMs: number): Promise<Outcome | undefined> {
  const { probe } = entry.skill;
  if (!probe) return undefined;
  const input_schema = { type: "object" };
  const handler = async (_input: never, context: ToolContext) => (await probe(context)) ?? null;
  const tool: Tool = { name: "probe", description: "", input_schema, effect: "read", handler };
  const { signal } = new AbortController();
  const redactor = environmentRedactor(workspace, [entry]);
  const how = { timeoutMs, signal, loggerFor: () => SILENT_LOGGER, blobs: memoryBlobs(), redactor };
  return callTool(workspace, { run: "doctor", entry, tool, input: {} }, how);
}
