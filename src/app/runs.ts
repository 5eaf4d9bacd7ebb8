import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { cutText } from "../core/cut.ts";
import { chooseBounds } from "../core/engine/bounds.ts";
import { linkProgram } from "../core/engine/link.ts";
import { changedSettings, chooseSettings, type RunChoices, recordedSettings } from "../core/engine/settings.ts";
import type { State } from "../core/engine/state.ts";
import { type Diagnostic, fieldPath, hasErrors, SkillflowError } from "../core/errors.ts";
import type { EventOf, RunEvent, RunRecord, Settings, SkillRecord } from "../core/event.ts";
import { checkModels, isOffline, parseModel } from "../core/model-name.ts";
import { RUN_SCRIPT } from "../core/own/own-tools.ts";
import type { Journal, Observer, Store, StoredRun } from "../core/ports.ts";
import type { ChangedPrompt } from "../core/prompt.ts";
import { redactRecord } from "../core/record/content.ts";
import { describeResult, type RunResult } from "../core/record/result.ts";
import { createRedactor, type Redactor, type Secret } from "../core/redact/redact.ts";
import { describeTools, type Logger, type Outcome, type Tool, type ToolContext } from "../core/skill.ts";
import { describeAbsence } from "../core/skill-reference.ts";
import type { JsonObject } from "../core/values.ts";
import { defined } from "../core/values.ts";
import { checkInput } from "../core/workflow/check.ts";
import { isDryRun } from "../core/workflow/inputs.ts";
import { checkOutputSchemas } from "../core/workflow/output-schemas.ts";
import { likeSources } from "../core/workflow/source.ts";
import type { Workflow } from "../core/workflow.ts";
import { handlerConfig, offeredTools, recordSkill } from "../loaders/registry/entry.ts";
import type { SkillEntry } from "../loaders/registry/skill-set.ts";
import { loadSources } from "../loaders/sources.ts";
import { priceOf } from "../models/prices.ts";
import { createAsk } from "../run/ask.ts";
import { type CallTool, createCall } from "../run/call.ts";
import { driveRun, tellAnswering, tellProgress } from "../run/drive.ts";
import { bodyOf, type Recall, recallRun } from "../run/recall.ts";
import { fileBlobs, memoryBlobs } from "../stores/blobs.ts";
import { blobsOfRun, fileStore, readRecording } from "../stores/file.ts";
import { openFetch, proxiedFetch } from "./fetch.ts";
import { connectServers, withoutServers } from "./mcp-connections.ts";
import { modelFinder, openServing, type Serving } from "./models.ts";
import { ownHandler } from "./own-tools.ts";
import {
  configFiles,
  configFindings,
  gatherSkills,
  type Host,
  type Project,
  reachedSkills,
  readWorkflow,
  recordedSkills,
  type SkillEntries,
  sourcePlaces,
  unknownSkills,
} from "./project.ts";
import { checkDocument, describeUnsearched, runRedactor, secretsOf, skillSecrets } from "./secrets.ts";

export { holdLarge } from "../run/large.ts";
export { blameStray } from "../run/stray.ts";
export { type InvokeOptions, invokeSkill, type OfferedSkill, offeredSkills, readOn } from "./call-skill.ts";

export function openStore(project: Project): Store {
  const { host, storeDirectory, storeRoot } = project;
  return fileStore({ directory: storeDirectory, root: storeRoot, self: host.self, isAlive: host.isAlive });
}

/** A recording, and the path that names it to the replay model. */
export interface Recording {
  readonly stored: StoredRun;
  readonly path: string;
}

/** A recorded run outside of any store; undefined where there is no such file. */
export function openRecording({ host }: Project, path: string): Recording | undefined {
  const file = resolve(host.cwd, path);
  return existsSync(file) ? { stored: readRecording(file), path } : undefined;
}

/** A recorded run of the project's store. */
export async function openStoredRecording(
  { host, storeDirectory }: Project,
  store: Store,
  run: string,
): Promise<Recording> {
  return { stored: await store.read(run), path: relative(host.cwd, join(storeDirectory, `${run}.jsonl`)) };
}

// ---- preparing a run

/** A run that is ready to be driven: everything outside has been read, and nothing has been recorded. */
export interface PreparedRun {
  readonly record: RunRecord;
  readonly entries: SkillEntries;
  readonly redactor: Redactor;
  readonly secrets: readonly Secret[];
  readonly choices: RunChoices;
  /** What answers in place of models; undefined where they do. */
  readonly serving: Serving | undefined;
  /** Of a replay: what it follows, and how. */
  readonly replay?: { readonly recall: Recall; readonly resumes: readonly EventOf<"run:resume">[] };
  /** What taking up a recorded run came upon; that of a new run is in its record. */
  readonly warnings: readonly string[];
  /** Of its time, what its MCP servers took to start (workflow-format D62). */
  readonly spentMs: number;
  /** Ends what was opened for it, whether or not it was driven. */
  close(): Promise<void>;
}

/** Whose tools are to be called, and until when they are waited for; undefined where nobody's are. */
export type Connect = { readonly signal: AbortSignal } | undefined;

/** Reads and checks all that a new run needs (read, parse, gather skills, configure, check, resolve sources). */
export async function prepareRun(
  project: Project,
  request: {
    readonly file: string;
    /** The input as given, once the workflow is known. */
    readonly input: (workflow: Workflow) => unknown;
    readonly runId: string | undefined;
    readonly choices: RunChoices;
    readonly connect: Connect;
    /** What answers for the models, where it is open already. */
    readonly serving?: Serving;
    /** The file is named by a recording: nobody vouches for what it brings along, wherever it is. */
    readonly isRecorded?: boolean;
  },
): Promise<PreparedRun> {
  const { host } = project;
  const { choices } = request;
  const file = resolve(host.cwd, request.file);
  const { workflow, diagnostics, ...read } = readWorkflow(project, request.file);
  if (!workflow) throw invalid("workflow.invalid", `${request.file} cannot be run`, diagnostics);
  const checked = checkInput(workflow, request.input(workflow));
  if (hasErrors(checked.diagnostics)) throw invalid("input.invalid", "the input does not fit", checked.diagnostics);
  const input = checked.input as JsonObject;
  const shapes = checkOutputSchemas(workflow, request.file);
  if (shapes.length > 0) throw invalid("workflow.invalid", `${request.file} cannot be run`, shapes);

  const skillSet = isDryRun(input) ? project.skills.unconnected() : project.skills;
  const inline = request.isRecorded ? recordedSkills(workflow) : read.inline;
  const gathered = await gatherSkills(skillSet, workflow, inline);
  const secrets = secretsOf(host.env, await reachedSkills(project.skills, gathered), project);
  const redactor = runRedactor(secrets, workflow);
  if (choices.requireSkills) requireSkills(workflow, gathered);
  const { contextMode } = project.choices;
  const settings = chooseSettings({ ...choices, contextMode }, host.env, workflow, configFiles(project));
  const serving = request.serving ?? (await openServing(settings.model, host.cwd));
  const resolved = await loadSources(workflow, input, {
    ...sourcePlaces(host, file, choices),
    offline: choices.offline,
    ...fetchAuth(project),
  });
  if (hasErrors(resolved.diagnostics)) {
    const located = resolved.diagnostics.map((found) => ({ ...found, file: request.file }));
    throw invalid("workflow.invalid", `${request.file} cannot be run`, located);
  }
  const opening = { workflow, input, gathered, redactor, limitMs: settings.limits.timeout_ms };
  const { entries, spentMs, close, ...servers } = await openServers(host, opening, request);
  const skills = [...entries].map(([id, entry]) => recordSkill(id, entry));
  const findings = [...unknownSkills(project, [workflow]), ...diagnostics, ...checked.diagnostics];
  const said = [...configFindings(project), ...findings].filter((found) => !TOLD_BY_SKILL.has(found.code));
  const told = [
    ...said.map((found) => (found.code === "SKILL_SKIPPED" ? `${placeOf(found)}: ${found.message}` : found.message)),
    ...servers.warnings,
    ...[...entries].flatMap(([id, entry]) => skillFindings(id, entry)),
    ...skillWarnings(skills),
    ...limitWarnings(settings, workflow),
    ...(choices.inputSources ? [] : describeLikeSources(input)),
    ...describeUnsearched(redactor),
    ...checkDocument(secrets, workflow).map(({ message, path }) => `${fieldPath(path)}: ${message}`),
  ];
  // Short enough for a screen: paths as people write them.
  const warnings = told.map((text) => text.replaceAll(`${host.cwd}${sep}`, ""));
  const record: RunRecord = {
    schema: "skillflow.run/1",
    run: request.runId ?? newRunId(),
    kind: input["dryRun"] === true ? "dry-run" : "run",
    at: new Date().toISOString(),
    file: request.file,
    workflow,
    input,
    sources: resolved.sources,
    skills,
    settings,
    warnings,
  };
  return {
    record: redactRecord(record, redactor),
    entries,
    redactor,
    secrets,
    choices,
    serving,
    warnings: [],
    spentMs,
    close,
  };
}

function describeLikeSources(input: JsonObject): string[] {
  const fields = likeSources(input);
  if (fields.length === 0) return [];
  return [`data, although it looks like files or addresses to read: ${fields.join(", ")} (--input-sources reads them)`];
}

/** What a skill's own files have wrong with them, which may be why a tool is missing. */
function skillFindings(id: string, entry: SkillEntry | undefined): string[] {
  return (entry?.diagnostics ?? []).map(
    (found) => `skill ${id}: ${found.message}${found.file === undefined ? "" : ` (${placeOf(found)})`}`,
  );
}

function placeOf({ file = "", line }: Diagnostic): string {
  return line === undefined ? file : `${file}:${line}`;
}

interface Opening {
  readonly workflow: Workflow;
  readonly input: JsonObject;
  readonly gathered: SkillEntries;
  readonly redactor: Redactor;
  /** The run's time, if it has a limit. */
  readonly limitMs: number | undefined;
}

/** The skills with the tools of their MCP servers, which run until `close`; a dry run connects none (trust 6). */
async function openServers(
  host: Host,
  { workflow, input, gathered, redactor, limitMs }: Opening,
  { choices, connect }: { readonly choices: RunChoices; readonly connect: Connect },
) {
  const unopened = { warnings: [], spentMs: 0, close: async () => undefined };
  if (isDryRun(input)) return { entries: withoutServers(gathered), ...unopened };
  if (!connect) return { entries: gathered, ...unopened };
  const fetch = await openFetch(host.env, choices.offline);
  const began = performance.now();
  const servers = await connectServers(gathered, {
    host,
    fetch,
    redactor,
    offline: choices.offline,
    signal: connect.signal,
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

/** Told together, with the reason why each skill is left out. */
const TOLD_BY_SKILL: ReadonlySet<string> = new Set(["UNKNOWN_SKILL", "SKILL_NOT_TRUSTED"]);

function invalid(
  code: "workflow.invalid" | "input.invalid",
  what: string,
  diagnostics: readonly Diagnostic[],
): SkillflowError {
  return new SkillflowError(code, what, { diagnostics });
}

/** Tokens leave for the hosts alone that the operator lists (trust 6). */
function fetchAuth({ host, operator }: Project) {
  const auth = Object.fromEntries(
    Object.entries(operator.fetch?.auth ?? {}).map(([name, variable]) => [name, host.env[variable]]),
  );
  return { auth, fetchToken: host.env.SWENY_FETCH_TOKEN };
}

/** `--require-skills`: the skills of every reachable node, before anything runs. */
function requireSkills(workflow: Workflow, entries: SkillEntries): void {
  const lost = [...entries].flatMap(([id, entry]) => {
    const reason = entry ? (entry.unavailable ?? entry.withheld) : describeAbsence(id);
    return reason === undefined ? [] : [`${id} (${reason})`];
  });
  if (lost.length === 0) return;
  throw new SkillflowError("skills.missing", `skills that ${workflow.id} lists are unavailable: ${lost.join(", ")}`, {
    hint: "set what they need, or run without --require-skills",
  });
}

function skillWarnings(skills: RunRecord["skills"]): string[] {
  const named = (some: RunRecord["skills"]) => some.map(({ id, reason }) => `${id} (${reason})`).join(", ");
  const lost = skills.filter((skill) => !skill.available);
  const held = skills.filter((skill) => skill.available && skill.reason !== undefined);
  return [
    ...(lost.length > 0 ? [`skills left out: ${named(lost)}`] : []),
    ...(held.length > 0 ? [`skills held back in part: ${named(held)}`] : []),
  ];
}

function limitWarnings({ limits, model }: Settings, workflow: Workflow): string[] {
  if (limits.max_cost_usd === undefined) return [];
  const names = new Set([model, workflow.model, ...Object.values(workflow.nodes).map((node) => node.model)]);
  return [...names].flatMap((name) => {
    if (name === undefined || isOffline(model) || priceOf(parseModel(name).name, ONE_TOKEN) !== null) return [];
    return [`the price of ${name} is unknown: max_cost_usd cannot count its calls`];
  });
}

const ONE_TOKEN = { inputTokens: 1, cachedTokens: 0, outputTokens: 1 };

/** Sorts by time, and is short enough to type. */
function newRunId(): string {
  const stamp = new Date().toISOString().replace(/[-:]/g, "").slice(0, 15).replace("T", "-");
  return `${stamp}-${randomBytes(2).toString("hex")}`;
}

// ---- driving a run

export interface Watch {
  readonly observers: readonly Observer[];
  /** Aborted by whoever interrupts the run. */
  readonly signal: AbortSignal;
  readonly onPromptChanged: (changed: ChangedPrompt) => void;
  readonly loggerFor: (skill: string) => Logger;
  /** The run is in its store: what goes wrong from now on breaks it off. */
  readonly onOpened?: () => void;
}

export interface FinishedRun {
  readonly record: RunRecord;
  /** From the run's beginning, whoever recorded them. */
  readonly events: readonly RunEvent[];
  readonly state: State;
  readonly result: RunResult;
  /** The folder of its blobs, there or not. */
  readonly blobs: string;
}

/** Opens a prepared run in a store and drives it to its end. */
export async function startRun(
  project: Project,
  store: Store,
  prepared: PreparedRun,
  watch: Watch,
): Promise<FinishedRun> {
  const journal = await store.create(prepared.record);
  return drive(project, prepared, watch, { journal, events: [], resumes: prepared.replay?.resumes ?? [] });
}

interface ResumeRequest {
  readonly choices: RunChoices;
  readonly connect: Connect;
  readonly serving?: Serving;
}

/** What a stored run needs to go on: its settings as recorded, its skills too but for what cannot be called any more. */
export async function prepareResume(project: Project, stored: StoredRun, request: ResumeRequest): Promise<PreparedRun> {
  const prepared = await prepareRecorded(project, stored, request);
  const { record, entries, warnings } = prepared;
  const taken = record.skills.map((skill) => takeUp(skill, entries.get(skill.id)));
  return {
    ...prepared,
    record: { ...record, skills: taken.map(({ skill }) => skill) },
    warnings: [...warnings, ...taken.flatMap(({ lost }) => lost)],
  };
}

async function prepareRecorded(project: Project, { record, events }: StoredRun, request: ResumeRequest) {
  const { host } = project;
  const { choices } = request;
  const { workflow, input } = record;
  const skillSet = isDryRun(input) ? project.skills.unconnected() : project.skills;
  const gathered = await gatherSkills(skillSet, workflow, recordedSkills(workflow));
  const secrets = secretsOf(host.env, await reachedSkills(project.skills, gathered), project);
  const redactor = runRedactor(secrets, workflow);
  if (choices.requireSkills) requireSkills(workflow, gathered);
  const recorded = recordedSettings(record.settings, events);
  const { model, limits } = {
    ...recorded,
    ...changedSettings(choices, recorded, { env: host.env, files: configFiles(project) }),
  };
  checkModels(model, workflow, host.env);
  const serving = request.serving ?? (await openServing(model, host.cwd));
  const opening = { workflow, input, gathered, redactor, limitMs: limits.timeout_ms };
  const { entries, warnings, spentMs, close } = await openServers(host, opening, request);
  const unknown = unknownSkills(project, [record.workflow]).map(({ message }) => message);
  return {
    record,
    entries,
    redactor,
    secrets,
    choices,
    serving,
    warnings: [...unknown, ...warnings],
    spentMs,
    close,
  };
}

/** A recorded skill without the tools that are gone, which no model is to be shown; what is lost is said. */
function takeUp(recorded: SkillRecord, entry: SkillEntry | undefined): { skill: SkillRecord; lost: readonly string[] } {
  const now = recordSkill(recorded.id, entry);
  const held = holdToNow(recorded, now);
  const isGone = ({ name }: { readonly name: string }) => !now.tools.some((tool) => tool.name === name);
  const skill = { ...held, tools: held.tools.filter((tool) => !isGone(tool)) };
  const gone = held.tools.filter(isGone).map(({ exposed }) => exposed);
  const names = recorded.scripts && !held.scripts ? [...gone, RUN_SCRIPT] : gone;
  if (!recorded.available || names.length === 0) return { skill, lost: [] };
  const why = now.reason ?? "it does not have them any more";
  return { skill, lost: [`${recorded.id} has lost ${names.join(", ")} since the run began: ${why}`] };
}

/** What a recording says of a skill, where its tools are to be called: those are what they are now, whatever it says of them. */
function holdToNow({ scripts, ...recorded }: SkillRecord, now: SkillRecord): SkillRecord {
  const own = recorded.tools.filter((tool) => tool.skill === recorded.id);
  const tools = own.map((tool) => {
    return { ...(now.tools.find(({ name }) => name === tool.name) ?? tool), exposed: tool.exposed };
  });
  return { ...recorded, tools, ...(scripts && now.scripts ? { scripts: now.scripts } : {}) };
}

/**
 * A new run of a recorded workflow and input, answered from the recording. The workflow file is read again where it
 * still is, so that the replay tells what an edit changes; skills are offered as they were.
 */
export async function prepareReplay(
  project: Project,
  { stored, path }: Recording,
  { runId, sources, tools, connect }: ReplayRequest,
): Promise<PreparedRun> {
  const { record } = stored;
  const file = record.file;
  const choices: RunChoices = { ...sources, model: `replay:${path}`, offline: false, requireSkills: false };
  const serving: Serving = { provider: "replay", recording: stored, resumed: "each" };
  const input = () => record.input;
  const prepared =
    file !== undefined && existsSync(resolve(project.host.cwd, file))
      ? await prepareRun(project, { file, input, runId, choices, connect, serving, isRecorded: true })
      : {
          ...(await prepareRecorded(project, stored, { choices, connect, serving })),
          record: { ...record, run: runId ?? newRunId() },
        };
  // What is carried out again may do no more than a new run: nothing recorded loosens what the operator says now.
  const { writes = "allow" } = chooseBounds({}, project.host.env, configFiles(project));
  const bound = connect && writes !== "allow" ? { writes: "deny" as const } : {};
  const settings = { ...record.settings, ...untimed(record.settings), ...bound, model: choices.model ?? "" };
  const known = prepared.record.skills.map((skill) => {
    const recorded = record.skills.find((other) => other.id === skill.id);
    const entry = prepared.entries.get(skill.id);
    // What a server lists, and what code that is not trusted now offered, is known from the recording alone.
    const isUnknown = entry?.skill.mcp !== undefined || entry?.withheld !== undefined;
    if (!recorded || (recorded.available === skill.available && !isUnknown)) return skill;
    if (!recorded.available) return recorded;
    const now = recordSkill(skill.id, offered(entry));
    return isUnknown ? { ...now, tools: recorded.tools } : now;
  });
  const skills = connect
    ? known.map((skill) => holdToNow(skill, recordSkill(skill.id, prepared.entries.get(skill.id))))
    : known;
  const resumes = stored.events.flatMap((event) =>
    event.type === "run:resume" ? [{ ...bodyOf(event), settings: { ...untimed(event.settings), ...bound } }] : [],
  );
  const replay = { recall: recallRun(stored, tools), resumes };
  return { ...prepared, record: { ...prepared.record, kind: "replay", settings, skills }, replay };
}

export interface ReplayRequest {
  readonly runId: string | undefined;
  readonly sources?: Pick<RunChoices, "fileRoot" | "inputSources">;
  /** Where tool results come from. */
  readonly tools: "recorded" | "live";
  readonly connect: Connect;
}

/** What a replay goes by of recorded settings: what time and which models were left to the run does not matter again. */
function untimed({ model: _model, judge_model: _judge, node_timeout_ms: _time, ...settings }: Partial<Settings>) {
  if (!settings.limits) return settings;
  const { timeout_ms: _timeout, ...limits } = settings.limits;
  return { ...settings, limits };
}

function offered(entry: SkillEntry | undefined): SkillEntry | undefined {
  return entry && { ...entry, unavailable: undefined };
}

/**
 * Goes on with a stored run: after a crash where it was, after its end as `run:resume` says. What is to change takes
 * effect between an end and a resume, so a crashed run is brought to an end first.
 */
export async function resumeRun(
  project: Project,
  store: Store,
  prepared: PreparedRun,
  watch: Watch,
  from: string | undefined,
): Promise<FinishedRun> {
  const { journal, events } = await store.open(prepared.record.run);
  const recorded = events.filter((event) => event.type === "run:resume");
  const ended =
    events.findLast((event) => event.type === "workflow:end" || event.type === "run:resume")?.type === "workflow:end";
  const changes = await closingOnFailure(journal, () =>
    changedSettings(prepared.choices, recordedSettings(prepared.record.settings, events), {
      env: project.host.env,
      files: configFiles(project),
    }),
  );
  const again: EventOf<"run:resume"> = { type: "run:resume", ...defined("from", from), settings: changes };
  if (ended) return drive(project, prepared, watch, { journal, events, resumes: [...recorded, again] });
  if (from === undefined && Object.keys(changes).length === 0 && !isHalted(events)) {
    return drive(project, prepared, watch, { journal, events, resumes: recorded });
  }
  const gone = { ...watch, signal: AbortSignal.abort("interrupted (its process is gone)") };
  await drive(project, prepared, gone, { journal, events, resumes: recorded });
  return resumeRun(project, store, prepared, watch, from);
}

/** Its process died while it brought the run to an end before its time. */
function isHalted(events: readonly RunEvent[]): boolean {
  const last = events.findLast(({ type }) =>
    ["run:interrupt", "run:fail", "limit:reached", "run:resume"].includes(type),
  );
  return (
    last?.type === "run:interrupt" ||
    last?.type === "run:fail" ||
    (last?.type === "limit:reached" && last.limit !== "node_timeout")
  );
}

interface Opened {
  readonly journal: Awaited<ReturnType<Store["create"]>>;
  readonly events: readonly RunEvent[];
  readonly resumes: readonly EventOf<"run:resume">[];
}

/** Whatever keeps a run from being driven leaves it free for the next who tries. */
async function closingOnFailure<Value>(journal: Journal, work: () => Value): Promise<Value> {
  try {
    return work();
  } catch (error) {
    await journal.close();
    throw error;
  }
}

async function drive(project: Project, prepared: PreparedRun, watch: Watch, opened: Opened): Promise<FinishedRun> {
  watch.onOpened?.();
  try {
    return await driveOpened(project, prepared, watch, opened);
  } finally {
    await opened.journal.close();
  }
}

async function driveOpened(
  project: Project,
  prepared: PreparedRun,
  watch: Watch,
  opened: Opened,
): Promise<FinishedRun> {
  const { record, redactor, choices } = prepared;
  const { host } = project;
  const settings = { ...recordedSettings(record.settings, opened.events), ...opened.resumes.at(-1)?.settings };
  const limitedFetch = await openFetch(host.env, choices.offline);
  const findModel = modelFinder({
    host,
    model: settings.model,
    serving: prepared.serving,
    fetch: limitedFetch,
    past: opened.events,
    onPromptChanged: watch.onPromptChanged,
  });
  const onProgress = (node: string, message: string) => {
    tellProgress(watch.observers, node, cutText(redactor.text(message), MOST_PROGRESS));
  };
  const ask = createAsk({
    findModel,
    priceOf: isOffline(settings.model) ? () => 0 : priceOf,
    clock: realClock,
    onProgress,
    onAnswering: (node, characters) => tellAnswering(watch.observers, node, characters),
  });
  const events = [...opened.events];
  const keep: Observer = { onEvent: (event) => events.push(event) };
  const state = await driveRun({
    program: linkProgram(record),
    journal: opened.journal,
    ask,
    callTool: toolCaller(project, prepared, settings, watch, limitedFetch),
    redactor,
    observers: [keep, ...watch.observers],
    signal: watch.signal,
    resumes: opened.resumes,
    spentMs: prepared.spentMs,
    recall: prepared.replay?.recall,
  });
  return {
    record,
    events,
    state,
    result: describeResult(record, state),
    blobs: blobsOfRun(project.storeDirectory, record.run),
  };
}

const MOST_PROGRESS = 2000;

function toolCaller(
  project: Project,
  prepared: PreparedRun,
  settings: Settings,
  watch: Watch,
  limited: typeof fetch,
): CallTool {
  const { entries, record, redactor } = prepared;
  const { host } = project;
  const blobs = fileBlobs(blobsOfRun(project.storeDirectory, record.run));
  return createCall({
    run: record.run,
    findHandler(call) {
      const own = ownHandler(call, { project, record, entries, blobs });
      if (own) return own;
      const entry = entries.get(call.tool.skill);
      const tool = entry && offeredTools(entry).find((candidate) => candidate.name === call.tool.name);
      return entry && tool && entry.unavailable === undefined ? { tool, config: handlerConfig(entry) } : undefined;
    },
    timeoutMs: settings.tool_timeout_ms,
    workDir: host.cwd,
    fetch: limited,
    offline: prepared.choices.offline,
    loggerFor: watch.loggerFor,
    redactor,
    blobs,
  });
}

/** What a skill's read-only probe came to, and whether its MCP server answers; undefined for a skill with neither. */
export async function probeSkill(project: Project, entry: SkillEntry, timeoutMs: number): Promise<Outcome | undefined> {
  const served = entry.skill.mcp ? await probeServer(project, entry) : undefined;
  const probed = await runProbe(project, entry, timeoutMs);
  return served && "error" in served ? served : (probed ?? served);
}

async function probeServer({ host }: Project, entry: SkillEntry): Promise<Outcome> {
  const { skill } = entry;
  const { signal } = new AbortController();
  const redactor = createRedactor(skillSecrets(host.env, entry));
  const fetch = await proxiedFetch(host.env);
  const { entries, close } = await connectServers(new Map([[skill.id, entry]]), {
    host,
    fetch,
    redactor,
    offline: false,
    signal,
  });
  await close();
  const reached = entries.get(skill.id);
  if (reached?.unavailable !== undefined) return { error: reached.unavailable };
  const count = (reached?.skill.tools.length ?? 0) - skill.tools.length;
  return { output: `tools of its MCP server: ${count}` };
}

async function runProbe(project: Project, entry: SkillEntry, timeoutMs: number): Promise<Outcome | undefined> {
  const { skill } = entry;
  const { probe } = skill;
  if (!probe) return undefined;
  const input_schema = { type: "object" };
  const handler = async (_input: never, context: ToolContext) => (await probe(context)) ?? null;
  const tool: Tool = { name: "probe", description: "", input_schema, effect: "read", handler };
  const quiet = () => undefined;
  const call = createCall({
    run: "doctor",
    findHandler: () => ({ tool, config: handlerConfig(entry) }),
    timeoutMs,
    workDir: project.host.cwd,
    fetch: await proxiedFetch(project.host.env),
    loggerFor: () => ({ debug: quiet, info: quiet, warn: quiet }),
    redactor: createRedactor(skillSecrets(project.host.env, entry)),
    blobs: memoryBlobs(),
  });
  const [descriptor] = describeTools(skill, [tool]);
  return descriptor && call({ key: skill.id, tool: descriptor, input: {} }, new AbortController().signal);
}

const realClock = {
  random: Math.random,
  sleep: (ms: number, signal: AbortSignal) =>
    new Promise<void>((done, refuse) => {
      const stop = () => {
        clearTimeout(timer);
        refuse(signal.reason);
      };
      const timer = setTimeout(() => {
        signal.removeEventListener("abort", stop);
        done();
      }, ms);
      signal.addEventListener("abort", stop, { once: true });
    }),
};
