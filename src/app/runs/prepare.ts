import { randomBytes } from "node:crypto";
import { sep } from "node:path";
import { type Diagnostic, fieldPath, hasErrors } from "../../core/base/diagnostic.ts";
import { SkillflowError, usageError } from "../../core/base/errors.ts";
import type { Redactor, Secret } from "../../core/base/redact/redact.ts";
import type { Json, JsonObject } from "../../core/base/values.ts";
import { defined } from "../../core/base/values.ts";
import { checkOutputSchemas } from "../../core/document/check/output-schemas.ts";
import { checkInput } from "../../core/document/check/workflow.ts";
import { isDryRun } from "../../core/document/inputs.ts";
import type { CoolDown, Workflow } from "../../core/document/workflow/workflow.ts";
import { type ChangedSkills, RUN_SCHEMA, type RunRecord, type Settings } from "../../core/engine/event/record.ts";
import type { StoredRun } from "../../core/engine/ports.ts";
import { redactRecord } from "../../core/engine/record/content.ts";
import type { RunChoices } from "../../core/engine/settings/settings.ts";
import { openLinks, recordedLinks } from "../../loaders/mcp/offer/links.ts";
import { recordSkill } from "../../loaders/registry/entry.ts";
import { loadSources } from "../../loaders/sources/sources.ts";
import type { Replaying } from "../../run/recall.ts";
import { connectServers, type Person, withoutServers } from "../adapters/mcp-connections.ts";
import { openServing, type Serving } from "../adapters/models.ts";
import { startOfCopy } from "../calls/copies.ts";
import { settingsOf } from "../checks/settings.ts";
import {
  readWorkflow,
  recordedSkills,
  refuseUnknownNodes,
  sourcePlaces,
  titleOf,
  type WorkflowDocument,
  withTestCommand,
} from "../documents.ts";
import type { Host, Workspace } from "../host.ts";
import { checkDocument, describeUnsearched, runRedactor, secretsOf } from "../secrets.ts";
import { gatherAll, leaveOutUseless, plannableSkills, reachedSkills, type SkillEntries } from "../skills/entries.ts";
import { requireSkills } from "../skills/required.ts";
import { configFindings, unknownSkills } from "../workspace.ts";
import { type InnerWorkflow, readInner, withRecordedSkills } from "./inner.ts";
import { recallMemory } from "./memory.ts";
import { reportUrl } from "./report-url.ts";
import {
  describeLikeSources,
  fallbackWarnings,
  limitWarnings,
  placeOf,
  plannableWarnings,
  skillFindings,
  skillWarnings,
  TOLD_BY_SKILL,
} from "./warnings.ts";

/** Run that is ready to start: all inputs have been read, and nothing has been recorded. */
export interface PreparedRun {
  readonly record: RunRecord;
  readonly entries: SkillEntries;
  readonly redactor: Redactor;
  readonly secrets: readonly Secret[];
  readonly choices: RunChoices;
  /** Skills of a resumed run that have lost something since it started. */
  readonly changed?: ChangedSkills;
  /** Recording or script that answers instead of models. */
  readonly serving: Serving | undefined;
  readonly replay?: Replaying;
  /** Warnings of a resume. Those of a new run are in its record. */
  readonly warnings: readonly string[];
  /** Milliseconds of the run's time limit that its MCP servers took to start. */
  readonly spentMs: number;
  close(): Promise<void>;
}

/** Options for connecting MCP servers. Undefined to connect none. */
export type Connect = { readonly signal: AbortSignal; readonly person?: Person | undefined } | undefined;

interface RunRequest {
  readonly document: WorkflowDocument;
  /** Returns the input as the user gave it. Called once the workflow is known. */
  readonly input: (workflow: Workflow) => unknown;
  readonly runId: string | undefined;
  readonly choices: RunChoices;
  readonly connect: Connect;
  readonly serving?: Serving;
  /** Replaces the skills after their servers are connected. It also has to apply `writes: plan`. */
  readonly stage?: (entries: SkillEntries, writes: Settings["writes"]) => SkillEntries;
  /** Record that names the file. Its inline skills are not trusted, and its inner workflows may no longer exist. */
  readonly recorded?: RunRecord;
  readonly cooling?: Cooling | undefined;
}

export interface Cooling extends Partial<CoolDown> {
  readonly fingerprint: Json | undefined;
}

/** Prepares a new run: reads the workflow, gathers its skills, connects their servers and builds the record. */
export async function prepareRun(workspace: Workspace, request: RunRequest): Promise<PreparedRun> {
  const read = readRequest(workspace, request);
  const writes = request.stage ? undefined : read.settings.writes;
  const reach = await gatherReach(workspace, read, { writes });
  const start = startOfCopy(workspace, reach, request.choices);
  const connected = await connectRun(workspace, { ...read, ...reach }, request);
  const record = recordOf(workspace, { ...read, ...reach, ...connected, start }, request);
  const { redactor, secrets } = reach;
  const { entries, serving, spentMs, close } = connected;
  const prepared = { entries, redactor, secrets, choices: request.choices, serving, warnings: [], spentMs, close };
  return { ...prepared, record: redactRecord(record, redactor) };
}

type Reach = Awaited<ReturnType<typeof gatherReach>>;

type Connected = Awaited<ReturnType<typeof connectRun>>;

/** Opens the recording or script that answers, and reads the sources, the states and the tools of MCP servers. */
async function connectRun(workspace: Workspace, given: Read & Reach, request: RunRequest) {
  const { choices, cooling, stage } = request;
  const { settings, redactor } = given;
  const serving = request.serving ?? (choices.detach ? undefined : await openServing(settings.model, workspace));
  const sources = await readSources(workspace, given, request);
  const innerRecord = await pinInner(workspace, given, request);
  const remembers = !stage && !request.recorded && !isDryRun(given.input);
  const { input, fingerprint } = redactor.value({
    input: given.input,
    ...defined("fingerprint", cooling?.fingerprint),
  });
  const coolsDown = choices.coolDown !== false;
  const recalled = { ...given, inner: innerRecord, input, coolsDown, fingerprint };
  const memory = remembers ? await recallMemory(workspace, recalled) : undefined;
  const opening = { ...given, sources, limitMs: settings.limits.timeout_ms };
  const connect = memory?.skipped ? undefined : request.connect;
  const opened = await openServers(workspace.host, opening, { choices, connect });
  const entries = stage?.(opened.entries, settings.writes) ?? opened.entries;
  return { ...opened, entries, serving, sources, innerRecord, memory };
}

function recordOf(
  workspace: Workspace,
  run: Read & Reach & Connected & { readonly start: ReturnType<typeof startOfCopy> },
  { runId, choices, recorded, stage }: Pick<RunRequest, "runId" | "choices" | "recorded" | "stage">,
): RunRecord {
  const { workflow, input, settings, redactor, entries } = run;
  const skills = [...entries].map(([id, entry]) => recordSkill(id, entry));
  const address = recorded || stage ? recorded?.report_url : reportUrl(workspace.host.env);
  return {
    schema: RUN_SCHEMA,
    run: newRunId(runId),
    kind: isDryRun(input) ? "dry-run" : "run",
    at: new Date().toISOString(),
    ...defined("file", run.file),
    ...defined("commit", workspace.host.documents?.commit),
    ...defined("base", run.start.base),
    ...defined("dirty", run.start.dirty),
    ...defined("report_url", address),
    workflow,
    input,
    sources: run.sources,
    ...(run.inner.size === 0 ? {} : { inner: run.innerRecord }),
    ...([...run.inner.values()].some((each) => each.workflow.limits) ? { file_limits: true as const } : {}),
    skills,
    settings,
    ...(workspace.again.length > 0 ? { options: [...workspace.again] } : {}),
    ...run.memory,
    warnings: [
      ...run.start.warnings,
      ...(choices.detach ? [] : warningsOf(workspace, run)),
      ...(choices.detach ? [] : [...skillWarnings(skills), ...plannableWarnings(entries)]),
      ...limitWarnings(settings, workflow),
      ...(choices.detach ? [] : fallbackWarnings(workspace, run, settings)),
      ...(choices.inputSources ? [] : describeLikeSources(input, workspace.host)),
      ...describeUnsearched(redactor),
      ...checkDocument(run.secrets, workflow).map(({ message, path }) => `${fieldPath(path)}: ${message}`),
    ].map((text) => text.replaceAll(`${workspace.host.cwd}${sep}`, "")),
  };
}

type Read = ReturnType<typeof readRequest>;

/** Returns the part of a workflow that a dry run takes: none of the later nodes if the first one asks no model. */
function untilDecision(workflow: Workflow): Workflow {
  const first = workflow.nodes[workflow.entry];
  return first?.steps || first?.approval ? { ...workflow, nodes: { [workflow.entry]: first }, edges: [] } : workflow;
}

function readRequest(workspace: Workspace, request: RunRequest) {
  const { document, input, recorded, cooling, choices, connect, serving } = request;
  const file = typeof document === "string" ? document : undefined;
  const { workflow, diagnostics, inline, place } = readWorkflow(workspace, document);
  if (!workflow) throw unrunnable(document, diagnostics);
  const checked = checkInput(workflow, withTestCommand(workspace, workflow, input(workflow)));
  if (hasErrors(checked.diagnostics)) {
    const fields = Object.entries(workflow.inputs ?? {});
    const [name] = fields.find(([, { required }]) => required) ?? fields[0] ?? [];
    const value = name === undefined ? "'{…}'" : `'{"${name}": …}'`;
    throw new SkillflowError("input.invalid", "the input does not fit", {
      hint: ["pass one JSON object: ", { option: "input", value }, ", or a file as @FILE"],
      diagnostics: checked.diagnostics,
    });
  }
  const { inner, findings } = readInner(workspace, {
    ...{ workflow, document, inline, place },
    ...defined("recorded", recorded?.inner),
  });
  if (hasErrors(findings)) throw unrunnable(document, findings);
  const all = [{ workflow, file }, ...inner.values()];
  const workflows = all.map((each) => each.workflow);
  refuseUnknownNodes(workflows, workspace.choices);
  const shapes = all.flatMap((each) => checkOutputSchemas(each.workflow, each.file));
  if (shapes.length > 0) throw unrunnable(document, shapes);
  const cooled = withCooling(workflow, cooling);
  // A test or a replay without live models and tools spends nothing and writes nothing.
  const isSimulated = connect === undefined && serving !== undefined;
  const bound = isSimulated ? { ...workspace, host: { ...workspace.host, policies: [] } } : workspace;
  const asked = isDryRun(checked.input as JsonObject) ? untilDecision(cooled) : cooled;
  const asking = serving || asked !== cooled ? undefined : cooled;
  const { settings, notes } = settingsOf(bound, asked, choices, { asking, inner });
  return {
    workflow: cooled,
    input: checked.input as JsonObject,
    inline: recorded ? recordedSkills(workflow) : inline,
    inner: recorded ? withRecordedSkills(inner) : inner,
    findings: [...diagnostics, ...checked.diagnostics, ...findings],
    file,
    settings,
    notes,
  };
}

function withCooling(workflow: Workflow, cooling: Cooling | undefined): Workflow {
  if (!cooling) return workflow;
  const { cool_down: own, ...rest } = workflow;
  const { for: time, key } = { ...own, ...cooling };
  // Without a fingerprint, the run has nothing in common with earlier ones, so there is no cool-down.
  if (cooling.key !== undefined && cooling.fingerprint === undefined) return rest;
  if (time === undefined || key === undefined) return workflow;
  // A workflow's key can only refer to its input. If the key refers to anything else, use the whole input.
  return { ...rest, cool_down: { for: time, key: /^input\b/.test(key) ? key : "input" } };
}

function unrunnable(document: WorkflowDocument, diagnostics: readonly Diagnostic[]): SkillflowError {
  return new SkillflowError("workflow.invalid", `${titleOf(document)} cannot be run`, { diagnostics });
}

/** Gathers a run's skills before their servers are connected, and all secrets that their handlers may hold. */
export async function gatherReach(
  workspace: Workspace,
  { workflow, input, inline, inner }: Pick<Read, "workflow" | "input" | "inline" | "inner">,
  { writes }: Pick<RunChoices, "writes">,
) {
  const { skills } = workspace;
  const set = isDryRun(input) ? skills.unconnected() : skills;
  const found = await gatherAll(set, [...inner.values(), { workflow, inline }]);
  const gathered = writes === "plan" ? plannableSkills(found) : found;
  const secrets = secretsOf(workspace, await reachedSkills(skills, gathered));
  const redactor = runRedactor(secrets, workflow);
  return { gathered, secrets, redactor };
}

/** Records the inner workflows with their sources. Those in the document itself may also use the run's input. */
async function pinInner(
  workspace: Workspace,
  { inner, input }: Read,
  request: RunRequest,
): Promise<NonNullable<RunRecord["inner"]>> {
  const ofFiles = new Map<string, Promise<RunRecord["sources"]>>();
  const sourcesOf = ({ workflow, document, file, sources }: InnerWorkflow) => {
    const read = { workflow, input: file === undefined ? input : {}, file };
    const known = file === undefined ? undefined : ofFiles.get(file);
    const found = known ?? sources ?? readSources(workspace, read, { ...request, document });
    if (file !== undefined) ofFiles.set(file, Promise.resolve(found));
    return found;
  };
  const pinned = [...inner].map(async ([path, each]) => {
    const { workflow, file } = each;
    const sources = await sourcesOf(each);
    return [path, { workflow, sources, ...defined("file", file) }] as const;
  });
  return Object.fromEntries(await Promise.all(pinned));
}

async function readSources(
  workspace: Workspace,
  { workflow, input, file }: Pick<Read, "workflow" | "input" | "file">,
  { document, choices }: RunRequest,
): Promise<RunRecord["sources"]> {
  const { host, operator } = workspace;
  // The tokens are sent only to hosts that the operator lists.
  const auth = Object.entries(operator.fetch?.auth ?? {}).map(([name, variable]) => [name, host.env[variable]]);
  const { sources, diagnostics } = await loadSources(workflow, input, {
    ...sourcePlaces(host, document, choices),
    offline: choices.offline,
    auth: Object.fromEntries(auth),
    fetchToken: host.env.SWENY_FETCH_TOKEN,
  });
  if (!hasErrors(diagnostics)) return sources;
  const located = diagnostics.map((found) => ({ ...found, ...defined("file", file) }));
  throw unrunnable(document, located);
}

function warningsOf(workspace: Workspace, run: Read & Connected): string[] {
  const { workflow, findings, notes, warnings, entries } = run;
  const all = [...configFindings(workspace), ...unknownSkills(workspace, [workflow]), ...findings];
  const said = all.filter((found) => !TOLD_BY_SKILL.has(found.code));
  return [
    ...notes,
    ...said.map((found) => (found.code === "SKILL_SKIPPED" ? `${placeOf(found)}: ${found.message}` : found.message)),
    ...warnings,
    ...[...entries].flatMap(([id, entry]) => skillFindings(id, entry)),
  ];
}

type Opening = Pick<RunRecord, "workflow" | "input" | "sources"> &
  Pick<Reach, "gathered" | "redactor"> & { readonly limitMs: number | undefined; readonly stored?: StoredRun };

/** Returns the usable skills with the tools of their MCP servers, which run until `close`. A dry run connects none. */
export async function openServers(
  host: Host,
  { workflow, redactor, limitMs, stored, ...given }: Opening,
  { choices, connect }: Pick<RunRequest, "choices" | "connect">,
) {
  const { input } = given;
  const gathered = await leaveOutUseless(given.gathered, host.cwd, given);
  if (choices.requireSkills) requireSkills(workflow, gathered);
  const unopened = { warnings: [], spentMs: 0, close: async () => undefined };
  if (isDryRun(input)) return { entries: withoutServers(gathered), ...unopened };
  if (!connect) return { entries: gathered, ...unopened };
  const began = performance.now();
  const linked = stored && recordedLinks(stored.record, stored.events);
  const servers = await connectServers(gathered, {
    host,
    links: (id) => openLinks(linked?.get(id)),
    redactor,
    offline: choices.offline,
    frozen: choices.frozen,
    signal: connect.signal,
    person: connect.person,
    limitMs,
  });
  const spentMs = performance.now() - began;
  try {
    if (choices.requireSkills) requireSkills(workflow, servers.entries);
    return { ...servers, spentMs };
  } catch (error) {
    await servers.close();
    throw error;
  }
}

/** Returns the id that the user chose, or creates one that sorts by time and is short enough to type. */
export function newRunId(given?: string): string {
  if (given === "latest") throw usageError("no run can have the id latest, which names the newest run");
  if (given !== undefined) return given;
  const stamp = new Date().toISOString().replace(/[-:]/g, "").slice(0, 15).replace("T", "-");
  return `${stamp}-${randomBytes(4).toString("hex")}`;
}
