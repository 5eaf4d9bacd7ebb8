import { describeTools, type Outcome, refusedCall, type Tool, type ToolContext } from "../../core/skill/skill.ts";
import { handlerConfig } from "../../loaders/registry/entry.ts";
import type { SkillEntry } from "../../loaders/registry/skill-set.ts";
import { createCall } from "../../run/call.ts";
import { memoryBlobs } from "../../stores/blobs.ts";
import { proxiedFetch } from "../adapters/fetch.ts";
import { listServers } from "../calls/call-skill.ts";
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
  const { skill } = entry;
  const { probe } = skill;
  if (!probe) return undefined;
  const input_schema = { type: "object" };
  const handler = async (_input: never, context: ToolContext) => (await probe(context)) ?? null;
  const tool: Tool = { name: "probe", description: "", input_schema, effect: "read", handler };
  const call = createCall({
    run: "doctor",
    findHandler: () => ({ tool, config: handlerConfig(entry) }),
    timeoutMs,
    workDir: workspace.host.cwd,
    fetch: proxiedFetch(workspace.host.env),
    loggerFor: () => SILENT_LOGGER,
    redactor: environmentRedactor(workspace, [entry]),
    blobs: memoryBlobs(),
  });
  const [descriptor] = describeTools(skill, [tool]);
  return descriptor && call({ key: skill.id, tool: descriptor, input: {} }, new AbortController().signal);
}
