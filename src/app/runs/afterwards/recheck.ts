import { SkillflowError } from "../../../core/base/errors.ts";
import { defined, type Json, type JsonObject, toJson } from "../../../core/base/values.ts";
import { findingOf } from "../../../core/engine/finding/finding.ts";
import { stateOf } from "../../../core/engine/fold/fold.ts";
import type { StoredRun } from "../../../core/engine/ports.ts";
import { judgeRecheck, type Recheck, type RecheckPlan, type Repeat } from "../../../core/engine/recheck/answer.ts";
import { literal, moveInput, widenInput } from "../../../core/engine/recheck/calls.ts";
import { emptyCondition, readSymptoms } from "../../../core/engine/recheck/compare.ts";
import type { RunChoices } from "../../../core/engine/settings/settings.ts";
import type { Tool } from "../../../core/skill/skill.ts";
import { exposedName } from "../../../core/skill/tool-names.ts";
import { recordedSkills } from "../../documents.ts";
import type { Workspace } from "../../host.ts";
import { type Connect, type PreparedRun, prepareRun } from "../prepare.ts";

/** Repeats the read calls that the kept claims of a run cite, as a run of its own without a model. */

interface PlannedRecheck {
  readonly of: StoredRun;
  readonly input: RecheckPlan;
  readonly workflow: JsonObject;
}

/** Most calls that are repeated: the limit of a node's steps. */
const MOST_CALLS = 50;

export function recheckOf(stored: StoredRun): Recheck {
  const answer = judgeRecheck(stored.record, stateOf(stored))?.recheck;
  if (!answer) throw new SkillflowError("internal.fault", "the record of the recheck has no plan");
  return answer;
}

/** Plans the repeats at this moment. Facts about tools come from the skills of now, which trust limits. */
export async function planRecheck(workspace: Workspace, of: StoredRun, window?: number): Promise<PlannedRecheck> {
  const { record } = of;
  const state = stateOf(of);
  const { claims } = findingOf(state, record);
  const quotes = claims.flatMap(({ text: claim, quotes }) => {
    return quotes.flatMap(({ ref, quote }) => (ref === "input" ? [] : [{ ref, quote, claim }]));
  });
  const refs = [...new Set(quotes.map(({ ref }) => ref))];
  const repeats: Repeat[] = [];
  const steps: JsonObject[] = [];
  const wider: JsonObject[] = [];
  const used = new Set<string>();
  const made = new Map<string, string>();
  for (const ref of refs) {
    const call = state.run.calls.get(ref);
    if (!call) continue;
    const found = await findTool(workspace, of, call.tool);
    const output = call.outcome && "output" in call.outcome ? call.outcome.output : undefined;
    const own = quotes.filter((quote) => quote.ref === ref);
    const symptoms = output === undefined ? [] : readSymptoms(output, own);
    const then = Date.parse(record.at);
    const isFixed = found !== undefined && (found.isCode || found.tool.clock === "none");
    const moved = found && !isFixed ? moveInput(call.input, found.tool, { now: Date.now(), window, then }) : undefined;
    const base = { ref, tool: call.tool, symptoms };
    const refuse = (reason: string) =>
      repeats.push({ ...base, input: call.input, since: 0, isWidened: false, isFixed, reason });
    if (!found) refuse("source unavailable: its tool is gone or does not only read");
    else if (isFixed) refuse("its result shows a cause, which time does not change");
    else if (!moved) refuse("the call has no time range");
    else if (symptoms.length === 0) refuse("no record or number of the recorded result is what the claim is about");
    else if (steps.length >= MOST_CALLS) refuse(`only ${MOST_CALLS} calls are repeated`);
    else {
      const tool = exposedName(found.skill, found.tool.name);
      const { input, since, until } = moved;
      // Two ranges of one call become the same one.
      const key = JSON.stringify([tool, input]);
      const step = made.get(key) ?? `c${steps.length + 1}`;
      if (!made.has(key)) steps.push({ id: step, tool, with: literal(input), on_error: "skip" });
      made.set(key, step);
      used.add(found.skill);
      const wide = widenInput(input, found.tool, found.tool.input_schema as Json);
      const when = wide === undefined || output === undefined ? undefined : emptyCondition(step, output, symptoms);
      if (wide !== undefined && when && !wider.some(({ id }) => id === step))
        wider.push({ id: step, tool, with: literal(wide), if: when, on_error: "skip" });
      repeats.push({ ...base, step, input, since, ...defined("until", until), isWidened: when !== undefined });
    }
  }
  const kept = claims.map(({ text, quotes }) => ({ text, quotes: quotes.map(({ ref, quote }) => ({ ref, quote })) }));
  const input = { of: record.run, claims: kept, repeats };
  return { of, input, workflow: workflowOf(of, { steps, wider, skills: [...used] }) };
}

/** Finds the tool of a recorded call, as it is now. Undefined if it is gone or does not only read. */
async function findTool(workspace: Workspace, { record }: StoredRun, exposed: string) {
  const recorded = record.skills.flatMap(({ tools }) => tools).find((tool) => tool.exposed === exposed);
  if (recorded?.effect !== "read") return undefined;
  const entry = await workspace.skills.find(recorded.skill, recordedSkills(record.workflow));
  const tool = entry?.skill.tools.find(({ name }: Tool) => name === recorded.name);
  return tool?.effect === "read" ? { skill: recorded.skill, tool, isCode: entry?.skill.category === "git" } : undefined;
}

/** Stands for the calls if none can be repeated, so that the recheck is recorded all the same. It is never made. */
const NOTHING: JsonObject = { id: "none", tool: "board_read", if: "input.none exists" };

function workflowOf(
  { record: { run, workflow } }: StoredRun,
  { steps, wider, skills }: { readonly steps: JsonObject[]; readonly wider: JsonObject[]; readonly skills: string[] },
): JsonObject {
  const node = (name: string, calls: JsonObject[]) => ({ name, skills, show: 0, steps: calls });
  return {
    id: "recheck",
    name: `Recheck of ${run}`,
    description: "Repeats the calls that the kept claims of a run cite",
    entry: "again",
    ...(workflow.skills ? { skills: toJson(workflow.skills) } : {}),
    nodes: {
      again: node("The same calls, now", steps.length > 0 ? steps : [NOTHING]),
      ...(wider.length > 0 ? { traffic: node("Empty searches without filters", wider) } : {}),
    },
    edges: wider.length > 0 ? [{ from: "again", to: "traffic" }] : [],
  };
}

export async function prepareRecheck(
  workspace: Workspace,
  { of, input, workflow }: PlannedRecheck,
  { choices, connect }: { readonly choices: RunChoices; readonly connect: Connect },
): Promise<PreparedRun> {
  const prepared = await prepareRun(workspace, {
    document: workflow,
    input: () => input,
    runId: undefined,
    choices: { ...choices, writes: "deny", coolDown: false },
    connect,
    recorded: of.record,
  });
  const { report_url: _, ...record } = prepared.record;
  return { ...prepared, record: { ...record, kind: "recheck" } };
}
