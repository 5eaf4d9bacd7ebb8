import { existsSync, readdirSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { CallToolResult, Tool } from "@modelcontextprotocol/server";
import { boundsFor } from "../../app/checks/settings.ts";
import { readWorkflow } from "../../app/documents.ts";
import type { Workspace } from "../../app/host.ts";
import { type FinishedRun, holdLarge, startRun } from "../../app/runs/drive.ts";
import { prepareRun } from "../../app/runs/prepare.ts";
import { gatherAll } from "../../app/skills/entries.ts";
import type { InlineSkills } from "../../app/workspace.ts";
import type { Blobs } from "../../core/base/blobs.ts";
import type { Diagnostic } from "../../core/base/diagnostic.ts";
import { SkillflowError } from "../../core/base/errors.ts";
import type { JsonObject } from "../../core/base/values.ts";
import { defined } from "../../core/base/values.ts";
import { describeInputs } from "../../core/document/inputs.ts";
import type { Workflow } from "../../core/document/workflow/workflow.ts";
import { RUN_STATUSES } from "../../core/engine/event/end.ts";
import type { Observer } from "../../core/engine/ports.ts";
import { resumeCommand, shellWord } from "../../core/engine/result/commands.ts";
import type { Writes } from "../../core/engine/settings/bounds.ts";
import type { RunChoices } from "../../core/engine/settings/settings.ts";
import { blobsIn } from "../../core/engine/tools/blob.ts";
import type { Logger } from "../../core/skill/skill.ts";
import { readRegular } from "../../files/files.ts";
import { linkTo } from "./resources.ts";

/** Workflows as MCP tools. Each call starts and records a run, like the command line. */

/** Expands the given files and folders to workflow files. Defaults to the project's `workflows/`. */
export function findWorkflows({ host, root }: Workspace, named: readonly string[]): readonly string[] {
  if (named.length === 0) {
    const own = join(root, "workflows");
    return existsSync(own) ? filesOf(own).map((file) => relative(host.cwd, file)) : [];
  }
  return named.flatMap((name) => {
    const path = resolve(host.cwd, name);
    if (!existsSync(path)) throw new SkillflowError("usage.invalid", `there is no workflow ${name}`);
    return statSync(path).isDirectory() ? filesOf(path).map((file) => relative(host.cwd, file)) : [name];
  });
}

/** Lists the workflow files of a folder. Skips other YAML and JSON files, such as reply scripts. */
function filesOf(directory: string): readonly string[] {
  const names = readdirSync(directory).filter((name) => /\.(?:ya?ml|json)$/.test(name));
  const files = names.sort().map((name) => join(directory, name));
  const hasNodes = (text: string) => /^nodes[ \t]*:|"nodes"\s*:/m.test(text);
  return files.filter((file) => statSync(file).isFile() && hasNodes(readRegular(file).toString("utf8")));
}

export interface OfferedWorkflow {
  readonly file: string;
  readonly workflow: Workflow;
  readonly canWrite: boolean;
}

/** Loads the valid workflows. Passes the errors of invalid ones to `refuse`. */
export async function loadWorkflows(
  workspace: Workspace,
  files: readonly string[],
  {
    choices,
    refuse,
  }: { readonly choices: RunChoices; readonly refuse: (file: string, found: readonly Diagnostic[]) => void },
): Promise<readonly OfferedWorkflow[]> {
  const offered: OfferedWorkflow[] = [];
  for (const file of files) {
    const read = readWorkflow(workspace, file);
    const { workflow } = read;
    if (workflow) offered.push({ file, workflow, canWrite: await canWrite(workspace, { ...read, workflow }, choices) });
    else refuse(file, read.diagnostics);
  }
  return offered;
}

async function canWrite(
  workspace: Workspace,
  { workflow, inline }: { readonly workflow: Workflow; readonly inline: InlineSkills },
  choices: RunChoices,
): Promise<boolean> {
  if (writesOf(workspace, choices, [workflow]) !== "allow") return false;
  const entries = await gatherAll(workspace.skills, [{ workflow, inline }]);
  return Object.values(workflow.nodes).some(
    ({ effects, skills = [] }) => effects !== "read" && skills.some((id) => mayWrite(entries.get(id)?.skill)),
  );
}

/** Returns how writes are handled in a run of these workflows or in a single call. */
export function writesOf(workspace: Workspace, choices: RunChoices, documents: readonly Workflow[] = []): Writes {
  return boundsFor(workspace, choices, documents).writes ?? "allow";
}

function mayWrite(skill: { readonly mcp?: unknown; readonly tools: readonly { effect: string }[] } | undefined) {
  return skill !== undefined && (skill.mcp !== undefined || skill.tools.some((tool) => tool.effect === "write"));
}

/** Returns the tool name of a workflow, such as `run_incident_triage`. */
export function workflowToolName({ id }: Workflow): string {
  return `run_${id.replace(/[^A-Za-z0-9_]/g, "_")}`.slice(0, 64);
}

export function describeWorkflow(name: string, { workflow, canWrite }: OfferedWorkflow): Tool {
  return {
    name,
    title: workflow.name,
    description: `Runs the workflow "${workflow.name}"${workflow.description ? `: ${workflow.description}` : "."}`,
    inputSchema: describeInputs(workflow) as Tool["inputSchema"],
    outputSchema: RESULT,
    annotations: {
      title: workflow.name,
      readOnlyHint: !canWrite,
      destructiveHint: canWrite,
      idempotentHint: false,
      openWorldHint: true,
    },
  };
}

const RESULT: NonNullable<Tool["outputSchema"]> = {
  type: "object",
  properties: {
    run: { type: "string", description: "the run's id in the store" },
    status: { type: "string", enum: [...RUN_STATUSES] },
    exitCode: { type: "integer" },
    results: { type: "object", description: "by node: status and data" },
    degraded: { type: "array", items: { type: "object" }, description: "skills that were missing" },
    error: { type: "object", description: "why it did not succeed" },
  },
  required: ["run", "status", "exitCode", "results", "degraded"],
};

export interface RunWorld {
  readonly workspace: Workspace;
  readonly choices: RunChoices;
  readonly blobs: Blobs;
  readonly loggerFor: (skill: string) => Logger;
  readonly note: (line: string) => void;
}

interface WantedRun {
  readonly input: JsonObject;
  readonly signal: AbortSignal;
  readonly observers: readonly Observer[];
}

/** Runs a workflow to its end. If it cannot start, the call fails. */
export async function runWorkflow(world: RunWorld, { file }: OfferedWorkflow, wanted: WantedRun) {
  const { workspace, choices, loggerFor, note, blobs } = world;
  const { input, signal, observers } = wanted;
  const how = { runId: undefined, choices, connect: { signal } };
  try {
    const prepared = await prepareRun(workspace, { document: file, input: () => input, ...how });
    try {
      const { run, workflow } = prepared.record;
      note(`run ${run} of ${workflow.id} started`);
      const finished = await startRun(workspace, prepared, { signal, observers, loggerFor });
      const { status } = finished.result;
      const onwards = status === "interrupted" || status === "stopped" ? `: skillflow ${resumeCommand(finished)}` : "";
      note(`run ${run} of ${workflow.id} ${status}${onwards}`);
      return await describeOutcome(finished, blobs);
    } finally {
      await prepared.close();
    }
  } catch (error) {
    if (!(error instanceof SkillflowError)) throw error;
    const content: CallToolResult["content"] = [{ type: "text", text: explain(error) }];
    return { isError: true, content };
  }
}

function explain({ message, hint, diagnostics = [] }: SkillflowError): string {
  const found = diagnostics.filter(({ severity }) => severity === "error").map((each) => `- ${each.message}`);
  return [message, ...found, ...(hint ? [hint] : [])].join("\n");
}

async function describeOutcome(finished: FinishedRun, blobs: Blobs): Promise<CallToolResult> {
  const { result } = finished;
  const { run, status, exitCode, degraded, error } = result;
  // Without the tool calls, which `skillflow runs show` prints.
  const nodes = Object.entries(result.results).map(([node, { status, data }]) => [node, { status, data }] as const);
  const results = await holdLarge(Object.fromEntries(nodes), blobs);
  return {
    content: [{ type: "text", text: summaryOf(finished) }, ...blobsIn(results).map(linkTo)],
    structuredContent: { run, status, exitCode, results, degraded, ...defined("error", error) },
    ...(exitCode === 0 ? {} : { isError: true }),
  };
}

const MOST_DATA = 1000;

function summaryOf(finished: FinishedRun): string {
  const { run, workflow, status, results, degraded, error, waiting = [] } = finished.result;
  const nodes = Object.entries(results).map(([node, { status: came, data }]) => {
    const text = JSON.stringify(data);
    return `- ${node}: ${came} ${text.length > MOST_DATA ? `${text.slice(0, MOST_DATA)}…` : text}`;
  });
  return [
    `${workflow}: ${status} (run ${run})`,
    ...(error ? [error.message] : []),
    ...(status === "interrupted" || status === "stopped" ? [`Resume it: skillflow ${resumeCommand(finished)}`] : []),
    ...waiting.map(({ node, ask }) => {
      return `It waits for a decision at ${node} (${ask}): skillflow signal ${run} ${shellWord(node)} --approve, or --deny`;
    }),
    ...degraded.map(
      ({ skill, node, reason }) => `${skill === undefined ? "degraded" : `without ${skill}`} at ${node}: ${reason}`,
    ),
    ...nodes,
  ].join("\n");
}
