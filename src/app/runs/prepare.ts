import { randomBytes } from "node:crypto";
import { sep } from "node:path";
import { type Diagnostic, fieldPath, hasErrors } from "../../core/diagnostic.ts";
import { chooseSettings, type RunChoices } from "../../core/engine/settings.ts";
import { SkillflowError } from "../../core/errors.ts";
import type { EventOf, RunRecord } from "../../core/event.ts";
import { redactRecord } from "../../core/record/content.ts";
import type { Redactor, Secret } from "../../core/redact/redact.ts";
import { describeAbsence } from "../../core/skill-reference.ts";
import type { JsonObject } from "../../core/values.ts";
import { defined } from "../../core/values.ts";
import { checkInput } from "../../core/workflow/check.ts";
import { isDryRun } from "../../core/workflow/inputs.ts";
import { checkOutputSchemas } from "../../core/workflow/output-schemas.ts";
import type { Workflow } from "../../core/workflow.ts";
import { recordSkill } from "../../loaders/registry/entry.ts";
import { loadSources } from "../../loaders/sources.ts";
import type { Recall } from "../../run/recall.ts";
import { readWorkflow, recordedSkills, sourcePlaces, titleOf, type WorkflowDocument } from "../documents.ts";
import { openFetch } from "../fetch.ts";
import type { Host, Workspace } from "../host.ts";
import { connectServers, withoutServers } from "../mcp-connections.ts";
import { openServing, ownPrefixes, type Serving } from "../models.ts";
import { checkDocument, describeUnsearched, runRedactor, secretsOf } from "../secrets.ts";
import { gatherSkills, reachedSkills, type SkillEntries } from "../skills/entries.ts";
import { configFiles, configFindings, unknownSkills } from "../workspace.ts";
import {
  describeLikeSources,
  limitWarnings,
  placeOf,
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
  workspace: Workspace,
  request: {
    readonly document: WorkflowDocument;
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
  const { host } = workspace;
  const { choices } = request;
  const { document } = request;
  const file = typeof document === "string" ? document : undefined;
  const { workflow, diagnostics, ...read } = readWorkflow(workspace, document);
  if (!workflow) throw invalid("workflow.invalid", `${titleOf(document)} cannot be run`, diagnostics);
  const checked = checkInput(workflow, request.input(workflow));
  if (hasErrors(checked.diagnostics)) throw invalid("input.invalid", "the input does not fit", checked.diagnostics);
  const input = checked.input as JsonObject;
  const shapes = checkOutputSchemas(workflow, file);
  if (shapes.length > 0) throw invalid("workflow.invalid", `${titleOf(document)} cannot be run`, shapes);

  const skillSet = isDryRun(input) ? workspace.skills.unconnected() : workspace.skills;
  const inline = request.isRecorded ? recordedSkills(workflow) : read.inline;
  const gathered = await gatherSkills(skillSet, workflow, inline);
  const secrets = secretsOf(host.env, await reachedSkills(workspace.skills, gathered), workspace);
  const redactor = runRedactor(secrets, workflow);
  if (choices.requireSkills) requireSkills(workflow, gathered);
  const { contextMode } = workspace.choices;
  const files = configFiles(workspace);
  const settings = chooseSettings({ ...choices, contextMode }, host.env, workflow, files, ownPrefixes(workspace));
  const serving = request.serving ?? (await openServing(settings.model, workspace));
  const resolved = await loadSources(workflow, input, {
    ...sourcePlaces(host, document, choices),
    offline: choices.offline,
    ...fetchAuth(workspace),
  });
  if (hasErrors(resolved.diagnostics)) {
    const located = resolved.diagnostics.map((found) => ({ ...found, ...defined("file", file) }));
    throw invalid("workflow.invalid", `${titleOf(document)} cannot be run`, located);
  }
  const opening = { workflow, input, gathered, redactor, limitMs: settings.limits.timeout_ms };
  const { entries, spentMs, close, ...servers } = await openServers(host, opening, request);
  const skills = [...entries].map(([id, entry]) => recordSkill(id, entry));
  const findings = [...unknownSkills(workspace, [workflow]), ...diagnostics, ...checked.diagnostics];
  const said = [...configFindings(workspace), ...findings].filter((found) => !TOLD_BY_SKILL.has(found.code));
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
    ...defined("file", file),
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

interface Opening {
  readonly workflow: Workflow;
  readonly input: JsonObject;
  readonly gathered: SkillEntries;
  readonly redactor: Redactor;
  /** The run's time, if it has a limit. */
  readonly limitMs: number | undefined;
}

/** The skills with the tools of their MCP servers, which run until `close`; a dry run connects none (trust 6). */
export async function openServers(
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

function invalid(
  code: "workflow.invalid" | "input.invalid",
  what: string,
  diagnostics: readonly Diagnostic[],
): SkillflowError {
  return new SkillflowError(code, what, { diagnostics });
}

/** Tokens leave for the hosts alone that the operator lists (trust 6). */
function fetchAuth({ host, operator }: Workspace) {
  const auth = Object.fromEntries(
    Object.entries(operator.fetch?.auth ?? {}).map(([name, variable]) => [name, host.env[variable]]),
  );
  return { auth, fetchToken: host.env.SWENY_FETCH_TOKEN };
}

/** `--require-skills`: the skills of every reachable node, before anything runs. */
export function requireSkills(workflow: Workflow, entries: SkillEntries): void {
  const lost = [...entries].flatMap(([id, entry]) => {
    const reason = entry ? (entry.unavailable ?? entry.withheld) : describeAbsence(id);
    return reason === undefined ? [] : [`${id} (${reason})`];
  });
  if (lost.length === 0) return;
  throw new SkillflowError("skills.missing", `skills that ${workflow.id} lists are unavailable: ${lost.join(", ")}`, {
    hint: "set what they need, or run without --require-skills",
  });
}

/** Sorts by time, and is short enough to type. */
export function newRunId(): string {
  const stamp = new Date().toISOString().replace(/[-:]/g, "").slice(0, 15).replace("T", "-");
  return `${stamp}-${randomBytes(4).toString("hex")}`;
}
