import { SkillflowError } from "../../core/errors.ts";
import { type Database, ENGINE_SCHEMA } from "./database.ts";

/** What the database holds of runs: each as the lines that a file of it would have. */

export interface Kept {
  /** The run's own line and its events, to the byte as they were sealed. */
  readonly bytes: Buffer;
  /** Its segments, in their order. */
  readonly segments: readonly Segment[];
}

export interface Segment {
  readonly nr: number;
  readonly workflow: string;
  /** The names of its steps that count. */
  readonly steps: readonly string[];
}

/** Throws `run.unknown`. */
export async function readKept(database: Database, run: string): Promise<Kept> {
  const [found] = await database.rows<{ readonly record: string }>(RECORD, run);
  if (!found) throw unknownRun(run);
  const rows = await database.rows<StepRow>(STEPS, run);
  const segments: (Segment & { readonly steps: string[] })[] = [];
  const lines = [`${found.record}\n`];
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
  readonly nr: number;
  readonly workflow: string;
  readonly name: string | null;
  readonly output: string | null;
}

/** A step beyond those that count was recorded by somebody who was taken for dead. */
const STEPS = `
  select s.nr, s.workflow, o.function_name as name, o.output from skillflow.segments s
  left join ${ENGINE_SCHEMA}.operation_outputs o
    on o.workflow_uuid = s.workflow and (s.records is null or o.function_id < s.records)
  where s.run = $1 order by s.nr, o.function_id`;

export function unknownRun(run: string): SkillflowError {
  return new SkillflowError("run.unknown", `there is no run ${run} in the database`, { hint: "skillflow runs list" });
}

export async function listKept(database: Database): Promise<readonly { readonly run: string; readonly at: string }[]> {
  return database.rows("select run, began as at from skillflow.runs order by nr");
}
