import { randomBytes } from "node:crypto";
import { sep } from "node:path";
import { type Diagnostic, fieldPath, hasErrors } from "../../core/base/diagnostic.ts";
import { SkillflowError } from "../../core/base/errors.ts";
import type { Redactor, Secret } from "../../core/base/redact/redact.ts";
import type { Json, JsonObject } from "../../core/base/values.ts";
import { defined } from "../../core/base/values.ts";
import { checkOutputSchemas } from "../../core/document/check/output-schemas.ts";
import { checkInput } from "../../core/document/check/workflow.ts";
import { isDryRun } from "../../core/document/inputs.ts";
import type { CoolDown, Workflow } from "../../core/document/workflow/workflow.ts";
import type { ChangedSkills, RunRecord } from "../../core/engine/event/record.ts";
import type { Settings } from "../../core/engine/event/settings.ts";
import type { StoredRun } from "../../core/engine/ports.ts";
import { redactRecord } from "../../core/engine/record/content.ts";
import { chooseSettings, type RunChoices } from "../../core/engine/settings/settings.ts";
import { describeAbsence } from "../../core/skill/skill-reference.ts";
import { openLinks, recordedLinks } from "../../loaders/mcp/offer/links.ts";
import { recordSkill } from "../../loaders/registry/entry.ts";
import { loadSources } from "../../loaders/sources/sources.ts";
import type { Afterwards, Recall } from "../../run/recall.ts";
import { openFetch } from "../adapters/fetch.ts";
import { connectServers, type Person, withoutServers } from "../adapters/mcp-connections.ts";
import { openServing, ownPrefixes, type Serving } from "../adapters/models.ts";
import { readWorkflow, recordedSkills, sourcePlaces, titleOf, type WorkflowDocument } from "../documents.ts";
import type { Host, Workspace } from "../host.ts";
import { checkDocument, describeUnsearched, runRedactor, secretsOf } from "../secrets.ts";
import { gatherAll, reachedSkills, type SkillEntries } from "../skills/entries.ts";
import { plannableSkills } from "../skills/plannable.ts";
import { faultOf } from "../skills/states.ts";
import { leaveOutUseless } from "../skills/useful.ts";
import { configFiles, configFindings, type InlineSkills, unknownSkills } from "../workspace.ts";
import { type InnerWorkflow, type InnerWorkflows, readInner, withRecordedSkills } from "./inner.ts";
import { recallMemory } from "./memory.ts";
import {
  describeLikeSources,
  limitWarnings,
  placeOf,
  plannableWarnings,
  skillFindings,
  skillWarnings,
  TOLD_BY_SKILL,
} from "./warnings.ts";

/** A run that is ready to be driven: everything outside has been read, and nothing has been recorded. */
export interface PreparedRun {
  readonly record: RunRecord;
  readonly entries: SkillEntries;
  readonly redactor: Redactor;
  readonly secrets: readonly Secret[];
  readonly choices: RunChoices;
  /** The skills of a resumed run that have lost something since it began. */
  readonly changed?: ChangedSkills;
  /** What answers in place of models; undefined where they do. */
  readonly serving: Serving | undefined;
  /** Of a replay: what it follows, and how. */
  readonly replay?: { readonly recall: Recall; readonly afterwards: readonly Afterwards[] };
  /** What taking up a recorded run came upon; that of a new run is in its record. */
  readonly warnings: readonly string[];
  /** Of its time, what its MCP servers took to start (workflow-format D62). */
  readonly spentMs: number;
  /** Ends what was opened for it, whether or not it was driven. */
  close(): Promise<void>;
}

/** Whose tools are to be called, and until when they are waited for; undefined where nobody's are. */
export type Connect = { readonly signal: AbortSignal; readonly person?: Person | undefined } | undefined;

interface RunRequest {
  readonly document: WorkflowDocument;
  /** The input as given, once the workflow is known. */
  readonly input: (workflow: Workflow) => unknown;
  readonly runId: string | undefined;
  readonly choices: RunChoices;
  readonly connect: Connect;
  /** What answers for the models, where it is open already. */
  readonly serving?: Serving;
  /** What stands in for the skills, as they are once their servers are opened; what of them can be planned alone is its affair. */
  readonly stage?: (entries: SkillEntries, writes: Settings["writes"]) => SkillEntries;
  /** What names the file: nobody vouches for what it brings along, wherever it is, and what it runs may be gone. */
  readonly recorded?: RunRecord;
  /** In place of the workflow's own cool-down. */
  readonly cooling?: Cooling | undefined;
}

/** What a run has in common with others that it is not to follow too soon; what is absent the workflow says, or nobody. */
export interface Cooling extends Partial<CoolDown> {
  /** The value that the key stands for. */
  readonly fingerprint: Json | undefined;
}

/** Reads and checks all that a new run needs (read, parse, gather skills, configure, check, resolve sources). */
export async function prepareRun(workspace: Workspace, request: RunRequest): Promise<PreparedRun> {
  const { choices } = request;
  const read = withCooling(readRequest(workspace, request), request.cooling);
  const settings = settingsOf(workspace, read.workflow, choices);
  const reach = await gatherReach(workspace, read, {
    ...choices,
    writes: request.stage ? undefined : settings.writes,
  });
  const serving = request.serving ?? (choices.detached ? undefined : await openServing(settings.model, workspace));
  const sources = await readSources(workspace, read, request);
  const inner = await pinInner(workspace, read, request);
  const remembers = !request.stage && !request.recorded && !isDryRun(read.input);
  const coolsDown = choices.coolDown !== false;
  const { input, fingerprint } = reach.redactor.value({
    input: read.input,
    ...defined("fingerprint", request.cooling?.fingerprint),
  });
  const memory = remembers ? await recallMemory(workspace, { ...read, inner, input, coolsDown, fingerprint }) : {};
  const opening = { ...read, ...reach, sources, limitMs: settings.limits.timeout_ms };
  const connect = memory.skipped ? undefined : request.connect;
  const opened = await openServers(workspace.host, opening, { choices, connect });
  const entries = request.stage?.(opened.entries, settings.writes) ?? opened.entries;
  const servers = { ...opened, entries };
  const { spentMs, close } = servers;
  const { redactor, secrets } = reach;
  const skills = [...entries].map(([id, entry]) => recordSkill(id, entry));
  const record: RunRecord = {
    schema: "skillflow.run/1",
    run: request.runId ?? newRunId(),
    kind: isDryRun(read.input) ? "dry-run" : "run",
    at: new Date().toISOString(),
    ...defined("file", read.file),
    ...defined("commit", workspace.host.documents?.commit),
    workflow: read.workflow,
    input: read.input,
    sources,
    ...(read.inner.size === 0 ? {} : { inner }),
    skills,
    settings,
    ...(workspace.again.length > 0 ? { options: [...workspace.again] } : {}),
    ...memory,
    warnings: [
      ...(choices.detached ? [] : warningsOf(workspace, read, servers)),
      ...(choices.detached ? [] : [...skillWarnings(skills), ...plannableWarnings(entries)]),
      ...limitWarnings(settings, read.workflow),
      ...(choices.inputSources ? [] : describeLikeSources(read.input)),
      ...describeUnsearched(redactor),
      ...checkDocument(secrets, read.workflow).map(({ message, path }) => `${fieldPath(path)}: ${message}`),
    ].map((text) => shortened(workspace, text)),
  };
  const prepared = { entries, redactor, secrets, choices, serving, warnings: [], spentMs, close };
  return { ...prepared, record: redactRecord(record, redactor) };
}

interface Read {
  readonly workflow: Workflow;
  readonly input: JsonObject;
  readonly inline: InlineSkills;
  readonly inner: InnerWorkflows;
  /** What is to be said of both, and keeps nothing from running. */
  readonly findings: readonly Diagnostic[];
  /** Where the workflow was. */
  readonly file: string | undefined;
}

/** The workflow and its input; throws what is wrong with them. */
function readRequest(workspace: Workspace, { document, input, recorded }: RunRequest): Read {
  const file = typeof document === "string" ? document : undefined;
  const { workflow, diagnostics, inline, place } = readWorkflow(workspace, document);
  if (!workflow) throw unrunnable(document, diagnostics);
  const checked = checkInput(workflow, input(workflow));
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
  const shapes = all.flatMap((each) => checkOutputSchemas(each.workflow, each.file));
  if (shapes.length > 0) throw unrunnable(document, shapes);
  return {
    workflow,
    input: checked.input as JsonObject,
    inline: recorded ? recordedSkills(workflow) : inline,
    inner: recorded ? withRecordedSkills(inner) : inner,
    findings: [...diagnostics, ...checked.diagnostics, ...findings],
    file,
  };
}

function withCooling(read: Read, cooling: Cooling | undefined): Read {
  if (!cooling) return read;
  const { cool_down: own, ...workflow } = read.workflow;
  const { for: time, key } = { ...own, ...cooling };
  // Nothing is known of what it is about: it follows no other too soon.
  if (cooling.key !== undefined && cooling.fingerprint === undefined) return { ...read, workflow };
  if (time === undefined || key === undefined) return read;
  // What was found elsewhere is known by its value alone; of what a workflow may say, all of its input is the nearest.
  return { ...read, workflow: { ...workflow, cool_down: { for: time, key: /^input\b/.test(key) ? key : "input" } } };
}

function unrunnable(document: WorkflowDocument, diagnostics: readonly Diagnostic[]): SkillflowError {
  return new SkillflowError("workflow.invalid", `${titleOf(document)} cannot be run`, { diagnostics });
}

/** The skills of a run as they are before their servers are opened, and all secrets that its handlers may hold. */
export async function gatherReach(
  workspace: Workspace,
  { workflow, input, inline, inner }: Pick<Read, "workflow" | "input" | "inline" | "inner">,
  { writes }: Pick<RunChoices, "writes">,
) {
  const { host, skills } = workspace;
  const set = isDryRun(input) ? skills.unconnected() : skills;
  const found = await gatherAll(set, [...inner.values(), { workflow, inline }]);
  const gathered = writes === "plan" ? plannableSkills(found) : found;
  const secrets = secretsOf(host.env, await reachedSkills(skills, gathered), workspace);
  const redactor = runRedactor(secrets, workflow);
  return { gathered, secrets, redactor };
}

export function settingsOf(workspace: Workspace, workflow: Workflow, choices: RunChoices): Settings {
  const { contextMode } = workspace.choices;
  const { env } = workspace.host;
  const said = { env, files: configFiles(workspace), own: ownPrefixes(workspace) };
  return chooseSettings({ ...choices, contextMode }, workflow, said);
}

/** The workflows that nodes run, as they are when the run begins; what is written in the document has its input's rules too. */
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
  const { sources, diagnostics } = await loadSources(workflow, input, {
    ...sourcePlaces(workspace.host, document, choices),
    offline: choices.offline,
    ...fetchAuth(workspace),
  });
  if (!hasErrors(diagnostics)) return sources;
  const located = diagnostics.map((found) => ({ ...found, ...defined("file", file) }));
  throw unrunnable(document, located);
}

/** What was found on the way, by the files that choose skills, the document, the servers and each skill. */
function warningsOf(workspace: Workspace, { workflow, findings }: Read, servers: OpenedServers): string[] {
  const all = [...configFindings(workspace), ...unknownSkills(workspace, [workflow]), ...findings];
  const said = all.filter((found) => !TOLD_BY_SKILL.has(found.code));
  return [
    ...said.map((found) => (found.code === "SKILL_SKIPPED" ? `${placeOf(found)}: ${found.message}` : found.message)),
    ...servers.warnings,
    ...[...servers.entries].flatMap(([id, entry]) => skillFindings(id, entry)),
  ];
}

/** Short enough for a screen: paths as people write them. */
function shortened({ host }: Workspace, text: string): string {
  return text.replaceAll(`${host.cwd}${sep}`, "");
}

interface OpenedServers {
  readonly entries: SkillEntries;
  readonly warnings: readonly string[];
  readonly spentMs: number;
  close(): Promise<void>;
}

interface Opening {
  readonly workflow: Workflow;
  readonly input: JsonObject;
  readonly sources: RunRecord["sources"];
  readonly gathered: SkillEntries;
  readonly redactor: Redactor;
  /** The run's time, if it has a limit. */
  readonly limitMs: number | undefined;
  /** Of a run that goes on. */
  readonly stored?: StoredRun;
}

/** Returns the usable skills with the tools of their MCP servers, which run until `close`. A dry run connects none. */
export async function openServers(
  host: Host,
  { workflow, redactor, limitMs, stored, ...given }: Opening,
  { choices, connect }: Pick<RunRequest, "choices" | "connect">,
): Promise<OpenedServers> {
  const { input } = given;
  const gathered = await leaveOutUseless(given.gathered, host.cwd, given);
  if (choices.requireSkills) requireSkills(workflow, gathered);
  const unopened = { warnings: [], spentMs: 0, close: async () => undefined };
  if (isDryRun(input)) return { entries: withoutServers(gathered), ...unopened };
  if (!connect) return { entries: gathered, ...unopened };
  const fetch = await openFetch(host.env, choices.offline);
  const began = performance.now();
  const linked = stored && recordedLinks(stored.record, stored.events);
  const servers = await connectServers(gathered, {
    host,
    links: (id) => openLinks(linked?.get(id)),
    fetch,
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

/** Tokens leave for the hosts alone that the operator lists (trust 6). */
function fetchAuth({ host, operator }: Workspace) {
  const auth = Object.fromEntries(
    Object.entries(operator.fetch?.auth ?? {}).map(([name, variable]) => [name, host.env[variable]]),
  );
  return { auth, fetchToken: host.env.SWENY_FETCH_TOKEN };
}

/** `--require-skills`: the skills of every reachable node, before anything runs. */
function requireSkills(workflow: Workflow, entries: SkillEntries): void {
  const lost = [...entries].flatMap(([id, entry]) => {
    const reason = entry ? faultOf(entry) : describeAbsence(id);
    return reason === undefined ? [] : [`${id} (${reason})`];
  });
  if (lost.length === 0) return;
  throw new SkillflowError("skills.missing", `skills that ${workflow.id} lists are unavailable: ${lost.join(", ")}`, {
    hint: ["set what they need, or run without ", { option: "require-skills" }],
  });
}

/** Sorts by time, and is short enough to type. */
export function newRunId(): string {
  const stamp = new Date().toISOString().replace(/[-:]/g, "").slice(0, 15).replace("T", "-");
  return `${stamp}-${randomBytes(4).toString("hex")}`;
}
