import { sumCosts } from "../../core/base/preview.ts";
import { defined } from "../../core/base/values.ts";
import { documentOf, nodePath } from "../../core/document/inner/place.ts";
import type { Entry, EventBody, RunEvent } from "../../core/engine/event/event.ts";
import { type Change, changeSchema } from "../../core/engine/event/patch.ts";
import type { ChangedPrompt } from "../../core/engine/event/prompt.ts";
import { type RunRecord, sourcesIn } from "../../core/engine/event/record.ts";
import type { SingleStep } from "../../core/engine/fold/step.ts";
import { costOf } from "../../core/engine/result/result.ts";
import type { Said } from "../../core/engine/result/waiting.ts";
import { strictest, type Writes } from "../../core/engine/settings/bounds.ts";
import { WORKSPACE } from "../../core/engine/tools/workspace.ts";
import { reachedIn } from "../../core/outward/testing/coverage.ts";
import { checkExpectations } from "../../core/outward/testing/expectations.ts";
import { actedIn, findFixture } from "../../core/outward/testing/fixtures.ts";
import { outcomeOf } from "../../core/outward/testing/outcome.ts";
import type { TestCase, TestFile } from "../../core/outward/testing/test-file.ts";
import { exposedName } from "../../core/skill/tool-names.ts";
import { bodyOf, type Recall } from "../../run/recall.ts";
import type { Serving } from "../adapters/models.ts";
import { boundsFor } from "../checks/settings.ts";
import type { Workspace } from "../host.ts";
import { type FinishedRun, resumeRun, silentWatch, startRun, type Watch } from "../runs/drive.ts";
import { recalledIn } from "../runs/memory.ts";
import { type PreparedRun, prepareRun } from "../runs/prepare.ts";
import type { ReadyTest, TestModel } from "./load.ts";
import { type Props, stageSkills } from "./stage.ts";

export type CaseRun = Awaited<ReturnType<typeof runCase>>;

export interface Playing {
  readonly ready: ReadyTest;
  readonly model: TestModel;
  readonly which: TestCase;
  readonly signal: AbortSignal;
}

/** Runs a test case once. Throws if it cannot start. */
export async function runCase(workspace: Workspace, playing: Playing) {
  const began = performance.now();
  const { finished, changed, ended } = await driveCase(workspace, await prepareCase(workspace, playing), playing);
  // Without a store directory, runs stay in memory. Free it for the next case.
  if (workspace.storeDirectory === undefined) await workspace.store.remove(finished.record.run);
  const { which, model } = playing;
  const recording = recordingOf(model.serving);
  const costUsd = recording ? recordedCost(recording.events, finished.events) : finished.result.usage.costUsd;
  const outcome = outcomeOf({
    ...finished,
    costUsd,
    changedPrompts: recording && changed.map(({ key, node }) => `${node} (step ${key})`),
  });
  return {
    failures: checkExpectations(which.expect ?? {}, outcome),
    changed,
    durationMs: ended - began,
    costUsd,
    tokens: outcome.tokens,
    // Sources, on which the result depends in addition to the test's files.
    files: Object.values(sourcesIn(finished.record)).flatMap(({ sourcePath }) => sourcePath ?? []),
    reached: reachedIn(finished.events),
  };
}

/** Runs a case and stores the run, as a replacement for the recording that it replays. */
export async function recordCase(workspace: Workspace, playing: Playing, run: string): Promise<void> {
  const recorded = recordingOf(playing.model.serving)?.record;
  const prepared = await prepareCase(workspace, playing);
  const { settings } = prepared.record;
  const record: RunRecord = {
    ...prepared.record,
    run,
    kind: recorded?.kind ?? "run",
    settings: { ...settings, model: recorded?.settings.model ?? settings.model },
  };
  await driveCase(workspace, { ...prepared, record }, playing);
}

/** Drives a prepared case to its end and closes it. Returns the prompts that differ from the recording, too. */
async function driveCase(workspace: Workspace, prepared: PreparedRun, { signal, which, model }: Playing) {
  const changed: ChangedPrompt[] = [];
  const watch: Watch = { ...silentWatch(signal), onPromptChanged: (change) => changed.push(change) };
  const recorded = recordingOf(model.serving)?.events ?? [];
  try {
    let finished = await startRun(workspace, prepared, watch);
    for (let said = nextWord(finished, which, recorded); said; said = nextWord(finished, which, recorded)) {
      finished = await resumeRun(workspace, { ...prepared, record: finished.record }, watch, { said });
    }
    // Closing servers takes time that is not the case's.
    return { finished, changed, ended: performance.now() };
  } finally {
    await prepared.close();
  }
}

/** Returns the answer to the first waiting approval in the case. Takes the name and note from the recording. */
function nextWord(
  { result, events }: FinishedRun,
  { approvals = {} }: TestCase,
  recorded: readonly RunEvent[],
): Said | undefined {
  for (const { node } of result.waiting ?? []) {
    const word = approvals[node] ?? approvals[documentOf(node)];
    if (word === undefined) continue;
    const approved = word === "approve";
    const given = givenAt(recorded, node)[givenAt(events, node).length];
    if (given?.approved !== approved) return { node, approved, by: "test" };
    return { node, approved, by: given.by, ...defined("note", given.note) };
  }
  return undefined;
}

function givenAt(events: readonly RunEvent[], path: string) {
  return events.flatMap((event) => {
    return event.type === "approval:given" && nodePath(event.at, event.node) === path ? [event] : [];
  });
}

async function prepareCase(workspace: Workspace, { ready, model, which, signal }: Playing): Promise<PreparedRun> {
  const { test, document, workflow } = ready;
  const { serving } = model;
  const isLive = (which.fixtures ?? test.fixtures) === "live";
  const recorded = recordingOf(serving)?.record;
  const props: Props = {
    fixtures: test.tools ?? {},
    named: namesIn(test, serving),
    isLive,
    disabled: workspace.choices.disabled,
    recorded: recorded?.skills,
  };
  const said = boundsOf(which.writes ?? test.writes);
  // With live tools, a test cannot relax `writes`.
  const { writes = "allow" } = isLive
    ? strictest([said, boundsFor(workspace, {}, [workflow])])
    : { ...strictest([workflow, workspace.project?.config].map((file) => boundsOf(file?.writes))), ...said };
  const prepared = await prepareRun(workspace, {
    document,
    input: () => which.input ?? {},
    runId: undefined,
    choices: { model: model.name, writes, offline: false, requireSkills: false },
    connect: isLive ? { signal } : undefined,
    ...defined("serving", serving),
    stage: (entries, writes) => stageSkills(entries, writes, props),
  });
  const skills = prepared.record.skills.map((skill) => asRecorded(skill, props));
  const recall = recallOf(props, prepared, recordingOf(serving)?.events ?? []);
  return {
    ...prepared,
    record: { ...prepared.record, ...(recorded ? recalledIn(recorded) : {}), kind: "test", skills },
    replay: { recall, afterwards: [], ...(isLive ? {} : { change: shownChange(props) }) },
  };
}

/** Returns the change that a test proposes: the fixture of the tool that shows it. */
function shownChange({ fixtures }: Props): Change {
  const { output } = findFixture(fixtures[DIFF] ?? [], {}) ?? {};
  const { data = NO_CHANGE } = changeSchema().safeParse(output);
  return data;
}

const DIFF = exposedName(WORKSPACE, "diff");
const NO_CHANGE: Change = { base: "", diff: "", files: [] };

function boundsOf(writes: Writes | undefined) {
  return { ...defined("writes", writes), limits: {} };
}

function recordingOf(serving: Serving | undefined) {
  return serving?.provider === "replay" ? serving.recording : undefined;
}

function namesIn({ tools = {}, cases }: TestFile, serving: Serving | undefined): ReadonlySet<string> {
  const expected = cases.flatMap(({ expect: { called = [], not_called = [], planned = [] } = {} }) => [
    ...called,
    ...not_called,
    ...planned.flatMap(({ tool }) => (typeof tool === "string" ? [tool] : [])),
  ]);
  const scripted =
    serving?.provider === "script"
      ? serving.script.replies.flatMap(({ calls = [] }) => calls.map(({ tool }) => tool))
      : [];
  return new Set([...Object.keys(tools), ...expected, ...scripted]);
}

/** Copies from the recording which parameters config sets. The model does not see these, so prompts stay the same. */
function asRecorded(skill: RunRecord["skills"][number], { recorded }: Props): RunRecord["skills"][number] {
  const known = recorded?.find(({ id }) => id === skill.id);
  if (!known) return skill;
  const tools = skill.tools.map((tool) => {
    const { settled } = known.tools.find(({ exposed }) => exposed === tool.exposed) ?? {};
    return { ...tool, ...defined("settled", settled) };
  });
  return { ...skill, ...defined("plannable", known.plannable), tools };
}

/** Answers planned writes from fixtures. Without live tools, takes the audience of a write from the recording. */
function recallOf({ fixtures, isLive }: Props, { redactor, record }: PreparedRun, past: readonly RunEvent[]): Recall {
  const answered = (body: EventBody, beside: readonly EventBody[]): EventBody => {
    if (body.type !== "tool:result" || !body.planned || !Object.hasOwn(fixtures, body.tool)) return body;
    const call = beside.find((other) => other.type === "tool:call" && other.id === body.id);
    const row = call?.type === "tool:call" ? findFixture(fixtures[body.tool] ?? [], call.input) : undefined;
    if (!row) return body;
    const { planned: _planned, output: _output, ...rest } = body;
    if (row.error !== undefined) {
      const tool = record.skills.flatMap(({ tools }) => tools).find(({ exposed }) => exposed === body.tool);
      return { ...rest, error: redactor.text(row.error), code: "tool.failed", acted: actedIn(row, tool) };
    }
    return { ...rest, output: redactor.value(row.output ?? null) };
  };
  const bodies = (step: SingleStep): readonly Entry[] | undefined => {
    if (step.kind === "reach" && step.asks === "change" && !isLive) {
      const known = past.find((event) => event.type === "tool:change" && event.id === step.call.key);
      return known?.type === "tool:change" ? [bodyOf(known)] : undefined;
    }
    if (step.kind === "reach" && !isLive) {
      const known = past.find((event) => event.type === "tool:audience" && event.id === step.call.key);
      const told = known?.type === "tool:audience" ? bodyOf(known) : { audience: "public" as const };
      return [{ ...told, type: "tool:audience", node: step.node, id: step.call.key }];
    }
    if (step.kind !== "decide" || !step.bodies.some((body) => body.type === "tool:result" && body.planned))
      return undefined;
    return step.bodies.map((body) => answered(body, step.bodies));
  };
  return { bodies, narrow: (step) => step, beside: () => [], includes: () => true };
}

function recordedCost(recorded: readonly RunEvent[], events: readonly RunEvent[]): number | null {
  const taken = new Set(events.flatMap((event) => (event.type === "model:reply" ? [event.key] : [])));
  const costs = recorded.flatMap((event) =>
    event.type === "model:reply" && taken.has(event.key) ? [event.usage?.costUsd ?? null] : [],
  );
  const sum = sumCosts(costs);
  return sum === null ? null : costOf({ costUsd: sum, unpriced: 0 });
}
