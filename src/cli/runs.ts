import { openRecording, openStore, openStoredRecording, type Recording } from "../app.ts";
import { SkillflowError } from "../core/errors.ts";
import type { RunEvent } from "../core/event.ts";
import { fold } from "../core/fold.ts";
import type { Store, StoredRun } from "../core/ports.ts";
import { describeResult } from "../core/result.ts";
import { begin } from "../core/state.ts";
import { nearest } from "../core/values.ts";
import { openProject, type Project } from "../project.ts";
import { projectOptions } from "./flags.ts";
import type { Action } from "./main.ts";
import { plainText } from "./reports/inert.ts";
import { describeFailure, duration, jsonLine, jsonText, painter, programName } from "./terminal.ts";
import { describeVerdict } from "./verdict.ts";

/** The run that a person means: its id, an unambiguous beginning of it, or `latest`. */
export async function findRun(store: Store, given: string): Promise<string> {
  const ids = await store.list();
  if (given === "latest" && ids[0]) return ids[0];
  if (ids.includes(given)) return given;
  const matches = ids.filter((id) => id.startsWith(given));
  if (matches.length === 1 && matches[0]) return matches[0];
  if (matches.length > 1) {
    const list = matches.slice(0, 5).join(", ");
    throw new SkillflowError("run.unknown", `"${given}" begins ${matches.length} runs: ${list}`, {
      hint: "type more of the id",
    });
  }
  const near = nearest(given, ids);
  throw new SkillflowError("run.unknown", `there is no run "${given}"`, {
    hint: near ? `did you mean ${near}?` : "skillflow runs list",
  });
}

/** A recorded run: a file of its own, or a run of the store. */
export async function findRecording(store: Store, project: Project, given: string): Promise<Recording> {
  return openRecording(project, given) ?? openStoredRecording(project, store, await findRun(store, given));
}

interface RunLine {
  readonly run: string;
  readonly workflow: string;
  readonly at: string;
  readonly status: string;
  readonly durationMs: number;
}

export const listRuns: Action = async (io, _args, flags) => {
  const store = openStore(openProject(io.host, projectOptions(flags)));
  const lines: RunLine[] = [];
  for (const run of await store.list()) {
    try {
      lines.push(summarize(await store.read(run)));
    } catch (error) {
      await io.err(describeFailure(error, flags, io));
    }
  }
  if (flags.json === true) {
    await io.out(jsonText({ runs: lines }));
    return 0;
  }
  const paint = painter(io, flags);
  if (lines.length === 0) await io.err("no runs yet: skillflow run WORKFLOW\n");
  for (const { run, workflow, at, status, durationMs } of lines) {
    const colour = status === "succeeded" ? "green" : status === "failed" ? "red" : "yellow";
    const when = at.slice(0, 19).replace("T", " ");
    await io.outText(
      `${run.padEnd(22)} ${paint(colour, status.padEnd(11))} ${when}  ${duration(durationMs).padStart(9)}  ${plainText(workflow)}\n`,
    );
  }
  return 0;
};

function summarize(stored: StoredRun): RunLine {
  const { run, at, workflow } = stored.record;
  const { status, usage } = resultOf(stored).result;
  return { run, workflow: workflow.id, at, status, durationMs: usage.durationMs };
}

function resultOf({ record, events }: StoredRun) {
  const state = events.reduce(fold, begin(record));
  return { record, state, result: describeResult(record, state) };
}

export const showRun: Action = async (io, [given = ""], flags) => {
  const store = openStore(openProject(io.host, projectOptions(flags)));
  const stored = await store.read(await findRun(store, given));
  if (flags.stream === true) {
    for (const event of stored.events) await io.out(jsonLine(event));
    return 0;
  }
  const finished = resultOf(stored);
  if (flags.json === true) {
    await io.out(jsonText(finished.result));
    return 0;
  }
  const paint = painter(io, flags);
  await io.outText(
    `${paint("bold", plainText(stored.record.workflow.name))} ${paint("dim", `· run ${stored.record.run}`)}\n`,
  );
  for (const line of stored.events.flatMap(pathLine)) await io.outText(`${paint("dim", line)}\n`);
  await io.outText(
    describeVerdict(
      { ...finished, events: stored.events },
      { paint, width: Math.min(io.columns, 110), program: programName(io) },
    ),
  );
  return 0;
};

function pathLine(event: RunEvent): string[] {
  if (event.type === "node:exit")
    return [`  ${event.node}: ${event.result.status}, ${event.result.toolCalls.length} calls`];
  return event.type === "route" ? [`    → ${plainText(event.to)}: ${plainText(event.reason)}`] : [];
}
