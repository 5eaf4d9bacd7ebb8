import { SkillflowError } from "../../core/base/errors.ts";
import { checkedAs, groupBy, parseJson } from "../../core/base/values.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import { type Skimmed, type SkimmedRun, skimEvent, skimRecord } from "../../core/engine/event/skim.ts";
import { skimRun } from "../file/run-skim.ts";
import { type Database, ENGINE_SCHEMA } from "./database.ts";

/** A run in the database, as the lines of a run's file. */

export interface Kept {
  /** The run's record and its events, byte for byte as sealed. */
  readonly bytes: Buffer;
  readonly segments: readonly Segment[];
}

export interface Segment {
  readonly nr: number;
  readonly workflow: string;
  readonly steps: readonly string[];
}

export async function readKept(database: Database, run: string): Promise<Kept> {
  const [found] = await database.rows<{ readonly record: string }>(RECORD, run);
  if (!found) throw unknownRun(run);
  return keptOf(found.record, await database.rows<StepRow>(STEPS, [run]));
}

function keptOf(record: string, rows: readonly StepRow[]): Kept {
  const segments: (Segment & { readonly steps: string[] })[] = [];
  const lines = [`${record}\n`];
  for (const { nr, workflow, name, output } of rows) {
    if (segments.at(-1)?.nr !== nr) segments.push({ nr, workflow, steps: [] });
    if (name === null || output === null) continue;
    segments.at(-1)?.steps.push(name);
    lines.push(JSON.parse(output) as string);
  }
  return { bytes: Buffer.from(lines.join(""), "utf8"), segments };
}

const RECORD = "select record from skillflow.runs where run = $1";

interface StepRow {
  readonly run: string;
  readonly nr: number;
  readonly workflow: string;
  readonly name: string | null;
  readonly output: string | null;
}

/** Query for steps. It skips steps that a process recorded after another one took over. */
const STEPS = `
  select s.run, s.nr, s.workflow, o.function_name as name, o.output from skillflow.segments s
  left join ${ENGINE_SCHEMA}.operation_outputs o
    on o.workflow_uuid = s.workflow and (s.records is null or o.function_id < s.records)
  where s.run = any($1) order by s.run, s.nr, o.function_id`;

/**
 * Reads list data of runs. Batches all requests of one event-loop turn into one query. Runs that are being driven, or
 * whose process died, need more queries. A fault in one run affects only that run.
 */
export function openSkims(database: Database): (run: string) => Promise<SkimmedRun> {
  let asked: { readonly runs: Set<string>; readonly found: Promise<Skims> } | undefined;
  return async (run) => {
    asked ??= gather();
    asked.runs.add(run);
    const skim = (await asked.found).get(run);
    if (!skim) throw unknownRun(run);
    return skim();
  };
  function gather() {
    const runs = new Set<string>();
    const found = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      asked = undefined;
      return skimKept(database, [...runs]);
    });
    return { runs, found };
  }
}

type Skims = ReadonlyMap<string, () => SkimmedRun>;

async function skimKept(database: Database, runs: readonly string[]): Promise<Skims> {
  const rows = await database.rows<SkimRow>(SKIMS, runs);
  const unknown = rows.flatMap(({ run, record }) => (record === null ? [] : [run]));
  const found: StepRow[] = [];
  for (let at = 0; at < unknown.length; at += AT_ONCE) {
    for (const row of await database.rows<StepRow>(STEPS, unknown.slice(at, at + AT_ONCE))) found.push(row);
  }
  const steps = groupBy(found, ({ run }) => run);
  return new Map(
    rows.map(({ run, record, skim }) => {
      if (record === null) return [run, () => checkedAs<SkimmedRun>(parseJson(skim ?? "") ?? null)];
      return [run, () => skimRun(keptOf(record, steps.get(run) ?? []).bytes, database.place, run)];
    }),
  );
}

const AT_ONCE = 100;

interface SkimRow {
  readonly run: string;
  /** Null if there is a skim. */
  readonly record: string | null;
  readonly skim: string | null;
}

const SKIMS = `
  select run, skim, case when skim is null then record end as record from skillflow.runs where run = any($1)`;

/** Stores the list data, unless another process has taken over the run. */
export async function keepSkim(
  database: Database,
  segment: string,
  { record, events }: { readonly record: RunRecord; readonly events: readonly RunEvent[] },
): Promise<void> {
  const skimmed = events.map(skimEvent).filter((event): event is Skimmed => event !== undefined);
  await database.rows(KEEP_SKIM, record.run, segment, JSON.stringify({ record: skimRecord(record), events: skimmed }));
}

const KEEP_SKIM = `
  update skillflow.runs set skim = $3 where run = $1
    and $2 = (select workflow from skillflow.segments where run = $1 order by nr desc limit 1)`;

export function tailKept(database: Database, run: string): () => Promise<readonly RunEvent[]> {
  let last: Pick<TailRow, "nr" | "step"> = { nr: 0, step: 0 };
  return async () => {
    const rows = await database.rows<TailRow>(TAIL, run, last.nr, last.step);
    last = rows.at(-1) ?? last;
    const lines = rows.flatMap(({ output }) => (JSON.parse(output) as string).trimEnd().split("\n"));
    return lines.map((line) => checkedAs<RunEvent>(JSON.parse(line)));
  };
}

interface TailRow {
  readonly nr: number;
  readonly step: number;
  readonly output: string;
}

const TAIL = `
  select s.nr, o.function_id as step, o.output from skillflow.segments s
  join ${ENGINE_SCHEMA}.operation_outputs o
    on o.workflow_uuid = s.workflow and (s.records is null or o.function_id < s.records)
  where s.run = $1 and o.output is not null and (s.nr > $2 or (s.nr = $2 and o.function_id > $3))
  order by s.nr, o.function_id`;

export function unknownRun(run: string): SkillflowError {
  return new SkillflowError("run.unknown", `there is no run ${run} in the database`, { hint: "skillflow runs list" });
}

export async function listKept(database: Database): Promise<readonly { readonly run: string; readonly at: string }[]> {
  return database.rows("select run, began as at from skillflow.runs order by nr");
}
