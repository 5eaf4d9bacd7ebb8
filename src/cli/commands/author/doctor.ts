import { fileURLToPath } from "node:url";
import { modelAccess, refuseModel } from "../../../app/adapters/models.ts";
import { sandboxName } from "../../../app/adapters/sandboxes.ts";
import { openQueue } from "../../../app/adapters/stores.ts";
import { boundsFor } from "../../../app/checks/settings.ts";
import { readWorkflow } from "../../../app/documents.ts";
import type { Workspace } from "../../../app/host.ts";
import { readInner } from "../../../app/runs/inner.ts";
import { fallbackWarnings } from "../../../app/runs/warnings.ts";
import { describeUnsearched, runRedactor, secretsOf } from "../../../app/secrets.ts";
import { gatherAll, leaveOutUseless, plannableSkills, type SkillEntries } from "../../../app/skills/entries.ts";
import { allSkills, examineSkill, type SkillState } from "../../../app/skills/states.ts";
import { configFiles, configFindings, unknownSkills } from "../../../app/workspace.ts";
import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import { messageOf, SkillflowError } from "../../../core/base/errors.ts";
import { plainLine } from "../../../core/base/inert.ts";
import { defined, isObject, toJson } from "../../../core/base/values.ts";
import { flatWorkflow } from "../../../core/document/inner/flat.ts";
import { type ModelChoice, modelsOf } from "../../../core/document/model-list.ts";
import { checkModels, modelAvailability, parseModels, providersOf } from "../../../core/document/model-name.ts";
import type { LoadedPolicy } from "../../../core/document/policy.ts";
import type { WorkflowNode } from "../../../core/document/workflow/node.ts";
import type { Workflow } from "../../../core/document/workflow/workflow.ts";
import type { QueueState } from "../../../core/engine/ports.ts";
import { namedModel } from "../../../core/engine/settings/settings.ts";
import { openProject, text } from "../../flags.ts";
import type { Action, Flags } from "../../io.ts";
import { amount, describeDiagnostic, duration, jsonText, type Paint, painter } from "../../terminal/terminal.ts";

export const doctor: Action = async (io, [file], flags) => {
  const workspace = openProject(io, flags);
  const { workflow, documents = [], findings = [] } = file === undefined ? {} : soundWorkflow(workspace, file);
  const entries: SkillEntries = workflow
    ? await skillsOfRun(workspace, workflow, documents)
    : new Map((await allSkills(workspace)).map((entry) => [entry.skill.id, entry]));
  const examined = [...entries].map(([skill, entry]) => {
    const nodes = nodesWith(workflow, (node) => node.skills?.includes(skill) === true);
    return examineSkill(skill, entry, io.host, nodes);
  });
  const skills = flags.live === true ? await probeAll(workspace, entries, examined) : examined;
  const named = text(flags, "model");
  const access = { ...modelAccess(workspace), files: configFiles(workspace) };
  const model = workflow && namedModel(defined("model", named), access);
  const models = modelStates(workspace, workflow, model);
  const bare = workflow ? nodesWithout(workflow, skills) : [];
  const lacking = named === undefined ? [] : modelFindings(workspace, named, workflow);
  const ok = bare.length + lacking.length === 0;
  const sandbox = flags.live === true ? await sandboxName(workspace) : undefined;
  const database = await databaseState(workspace, flags);
  const paint = painter(io, flags);
  const secrets = secretsOf(workspace, entries.values());
  const unsearched = warnings("secret.not_searched", describeUnsearched(runRedactor(secrets, workflow)));
  const installed = installFindings(fileURLToPath(import.meta.url));
  const about = [...configFindings(workspace), ...unknownSkills(workspace, [workflow])];
  const isAsking = workflow && lacking.length === 0;
  const fallbacks = warnings(
    "MODEL_UNAVAILABLE",
    isAsking ? fallbackWarnings(workspace, { workflow }, defined("model", model)) : [],
  );
  for (const found of [...installed, ...about, ...findings, ...unsearched, ...lacking, ...fallbacks])
    await io.err(`${describeDiagnostic(found, paint)}\n`);
  if (flags.json === true) {
    const policies = (workspace.host.policies ?? []).map(({ path, policy }) => ({ path, ...policy }));
    const policy = policies.length === 0 ? {} : { policies };
    const about = { ...defined("sandbox", sandbox), ...defined("database", database) };
    await io.out(jsonText({ skills, models, ok, ...policy, ...about }));
  } else {
    const listed = (title: string, found: readonly SkillState[]) =>
      `${[paint("bold", title), ...found.map((each) => describeFinding(each, paint))].join("\n")}\n`;
    await io.outText(listed("Skills", skills));
    await io.outText(`\n${listed("Models", models)}`);
    for (const each of workspace.host.policies ?? []) await io.outText(`${describePolicy(each, paint)}\n`);
    if (sandbox !== undefined) await io.outText(`${describeSandbox(sandbox, paint)}\n`);
    if (database) await io.outText(`${describeDatabase(database, paint)}\n`);
    const mark = paint("red", "✘");
    if (bare.length > 0) await io.err(`\n${mark} no usable skill for these nodes: ${bare.map(plainLine).join(", ")}\n`);
  }
  if (database?.state === "unavailable" && workspace.queue) return 4;
  return ok ? 0 : 3;
};

function modelStates(
  workspace: Workspace,
  workflow: Workflow | undefined,
  model: ModelChoice | undefined,
): SkillState[] {
  return modelAvailability(modelAccess(workspace)).map(({ id, lack }): SkillState => {
    const nodes = workflow ? nodesWith(workflow, (node) => providersOf(node, workflow, model).has(id)) : [];
    if (lack === undefined) return { id, state: "configured", reason: null, fix: null, nodes };
    return { id, state: "not_configured", reason: lack.reason, fix: lack.fix, nodes };
  });
}

function nodesWith(workflow: Workflow | undefined, fits: (node: WorkflowNode) => boolean): string[] {
  return Object.entries(workflow?.nodes ?? {}).flatMap(([id, node]) => (fits(node) ? [id] : []));
}

function describePolicy({ path, policy }: LoadedPolicy, paint: Paint): string {
  const { writes = "allow", models, limits = {}, skills, mcp_servers: servers, require_frozen } = policy;
  const only = (what: string, allowed: readonly string[] | undefined) =>
    allowed === undefined ? [] : [`${what}: ${allowed.length === 0 ? "none" : `only ${allowed.join(", ")}`}`];
  const bounds = Object.entries(limits).map(
    ([name, value]) => `${name} ${isObject(value) ? JSON.stringify(value) : value}`,
  );
  const lines = [
    ...(writes === "allow" ? [] : [`writes: at most ${writes}`]),
    ...only("models", models),
    ...(bounds.length === 0 ? [] : [`limits: at most ${bounds.join(", ")}`]),
    ...only("skills", skills?.allow),
    ...only("MCP servers", servers?.allow),
    ...(require_frozen ? ["MCP servers must be as skillflow.lock pins them"] : []),
  ];
  return ["", paint("bold", `Policy ${plainLine(path)}`), ...lines.map((line) => `  ${plainLine(line)}`)].join("\n");
}

type DatabaseState =
  | ({ readonly state: "available"; readonly place: string } & QueueState)
  | { readonly state: "unavailable"; readonly place: string; readonly reason: string };

async function databaseState(workspace: Workspace, flags: Flags): Promise<DatabaseState | undefined> {
  const isNamed = Boolean(workspace.host.env.SKILLFLOW_DATABASE_URL) && text(flags, "engine") !== "local";
  const queue = workspace.queue ?? (isNamed ? openQueue(workspace.host) : undefined);
  if (!queue) return undefined;
  const { place } = queue;
  try {
    return { state: "available", place, ...(await queue.examine()) };
  } catch (error) {
    return { state: "unavailable", place, reason: messageOf(error) };
  }
}

function describeDatabase(found: DatabaseState, paint: Paint): string {
  const heading = `\n${paint("bold", "Database")}\n`;
  if (found.state === "unavailable") return `${heading}  ${paint("yellow", "○")} ${plainLine(found.reason)}`;
  const { place, version, clockMs, queued, underWay, workers } = found;
  const at = `${plainLine(place)}  Postgres ${plainLine(version)}`;
  const doing = `${queued} queued, ${underWay} running, ${amount(workers, "worker")}`;
  const isOff = Math.abs(clockMs) > MOST_CLOCK_MS;
  const clock = isOff ? `\n    ${paint("yellow", `its clock differs by ${duration(Math.abs(clockMs))}`)}` : "";
  return `${heading}  ${paint("green", "●")} ${at}  ${doing}${clock}`;
}

const MOST_CLOCK_MS = 5000;

/** Returns the skills as a run would have them: if writes are planned, skills need no config to write. */
async function skillsOfRun(
  workspace: Workspace,
  workflow: Workflow,
  documents: Parameters<typeof gatherAll>[1],
): Promise<SkillEntries> {
  const found = await gatherAll(workspace.skills, documents);
  const { writes } = boundsFor(workspace, {}, [workflow]);
  const usable = writes === "plan" ? plannableSkills(found) : found;
  return leaveOutUseless(usable, workspace.host.cwd, {
    input: { documents: documents.map((each) => toJson(each.workflow)) },
    sources: {},
  });
}

function warnings(code: Diagnostic["code"], messages: readonly string[]): Diagnostic[] {
  return messages.map((message) => ({ severity: "warning", code, path: [], message }));
}

/** Finds what keeps a run from asking the model that `--model` names. Throws if its name is invalid or a policy forbids it. */
function modelFindings(workspace: Workspace, named: string, workflow: Workflow | undefined): Diagnostic[] {
  const model = parseModels(named);
  for (const name of modelsOf(model)) refuseModel(workspace.host, name);
  try {
    checkModels(model, workflow, modelAccess(workspace));
    return [];
  } catch (error) {
    if (!(error instanceof SkillflowError) || error.code !== "config.missing") throw error;
    const { message, hint } = error;
    return [{ severity: "error", code: "MODEL_UNAVAILABLE", path: [], message, ...defined("hint", hint) }];
  }
}

/** Warns about a temporary npx install: it runs whatever package the registry has under our name. */
function installFindings(program: string): Diagnostic[] {
  if (!/[\\/]_npx[\\/]/.test(program)) return [];
  const message = "skillflow runs from a temporary npx install: no lockfile says whose package it is";
  const hint = "install it from a lockfile (npm ci), then run: npx --no-install skillflow";
  return [{ severity: "warning", code: "INSTALL_TEMPORARY", path: [], message, hint }];
}

function describeSandbox(name: string, paint: Paint): string {
  const state =
    name === "missing"
      ? `${paint("yellow", "○")} none works here, so skill code cannot run\n    ${paint("dim", "install bubblewrap (apt-get install bubblewrap)")}`
      : `${paint("green", "●")} ${name}`;
  return `\n${paint("bold", "Sandbox")}\n  ${state}`;
}

const PROBE_TIMEOUT_MS = 5000;

async function probeAll(
  workspace: Workspace,
  entries: SkillEntries,
  findings: readonly SkillState[],
): Promise<SkillState[]> {
  const { probeSkill } = await import("../../../app/checks/probe.ts");
  return Promise.all(
    findings.map(async (finding): Promise<SkillState> => {
      const entry = entries.get(finding.id);
      if (!entry || entry.unavailable !== undefined || entry.plannable !== undefined) return finding;
      const outcome = await probeSkill(workspace, entry, PROBE_TIMEOUT_MS);
      if (!outcome) return finding;
      if ("error" in outcome) {
        return { ...finding, state: "unavailable", reason: outcome.error, fix: "check its config and the network" };
      }
      return { ...finding, state: "available", reason: typeof outcome.output === "string" ? outcome.output : null };
    }),
  );
}

/** Reads a valid workflow with its inner workflows. Keeps only the findings about skill folders. */
function soundWorkflow(workspace: Workspace, file: string) {
  const { workflow, inline, place, diagnostics } = readWorkflow(workspace, file);
  if (workflow) {
    const { inner } = readInner(workspace, { workflow, document: file, inline, place });
    return {
      workflow: flatWorkflow(workflow, inner),
      documents: [...inner.values(), { workflow, inline }],
      findings: diagnostics.filter(({ code }) => PLACES.has(code)),
    };
  }
  throw new SkillflowError("workflow.invalid", `${file} is not a valid workflow`, { diagnostics });
}

const PLACES: ReadonlySet<string> = new Set(["SKILL_SKIPPED", "SKILL_SHADOWED", "SKILL_TOOLS_LEFT_OUT"]);

/** Returns the nodes that list skills but have no usable one. */
function nodesWithout(workflow: Workflow, skills: readonly SkillState[]): string[] {
  const usable = new Set(
    skills.filter(({ state }) => state !== "unavailable" && state !== "not_configured").map(({ id }) => id),
  );
  return nodesWith(workflow, ({ skills: listed = [] }) => {
    return listed.length > 0 && !listed.some((skill) => usable.has(skill));
  });
}

function describeFinding({ id, state, reason, fix, nodes, tools = [] }: SkillState, paint: Paint): string {
  const good = state === "available" || state === "configured";
  const where = nodes.length > 0 ? paint("dim", `  used by ${nodes.map(plainLine).join(", ")}`) : "";
  const why = reason === null ? "" : `  ${plainLine(reason)}`;
  // A reason that waits for trust already names the option.
  const how = fix === null || reason?.includes(fix) ? "" : `\n    ${paint("dim", plainLine(fix))}`;
  const lost = tools.filter((tool) => tool.reason !== null);
  const without = lost.map(
    ({ name, reason: lack }) => `\n    ${paint("yellow", "○")} ${name}  ${plainLine(lack ?? "")}`,
  );
  return `  ${good ? paint("green", "●") : paint("yellow", "○")} ${id.padEnd(18)} ${state.replace("_", " ")}${why}${where}${how}${without.join("")}`;
}
