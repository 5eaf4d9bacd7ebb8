import { existsSync } from "node:fs";
import type { Blobs } from "../../../core/base/blobs.ts";
import { messageOf, SkillflowError, usageError } from "../../../core/base/errors.ts";
import type { RunEvent } from "../../../core/engine/event/event.ts";
import { operationDigest } from "../../../core/engine/event/operation.ts";
import type { RecordCheck, RecordProblem, StoredRun } from "../../../core/engine/ports.ts";
import { isUnchained } from "../../../core/engine/record/recording.ts";
import { shellWord } from "../../../core/engine/result/commands.ts";
import { endOf, waitsIn } from "../../../core/engine/result/waiting.ts";
import { filesOfRun } from "../../../stores/file/store.ts";
import { checkRun, findRun } from "../../adapters/stores.ts";
import type { Workspace } from "../../host.ts";

/** Result of checking that a run's record was not changed, as `runs verify` prints it. */
export interface Verification {
  readonly run: string;
  /** True if the run has ended and the record has no problems. */
  readonly ok: boolean;
  readonly ended: boolean;
  readonly records: number;
  /** Digest of the last record, to store elsewhere. Null if the run has no digests. */
  readonly digest: string | null;
  readonly problems: readonly RecordProblem[];
}

/** Verifies a run and returns the exit code: 4 if it was altered, 1 if it is unfinished or unchained. */
export async function verifyRun(
  workspace: Workspace,
  given: string,
  wanted: string | undefined,
): ReturnType<typeof verifyRecord> {
  if (wanted === "") throw usageError("the wanted digest is empty");
  return verifyRecord(workspace, given, { check: await checkRun(workspace, given), wanted });
}

async function verifyRecord(
  workspace: Workspace,
  given: string,
  { check, wanted }: { readonly check: RecordCheck; readonly wanted?: string | undefined },
): Promise<{ readonly verification: Verification; readonly exitCode: 0 | 1 | 4 }> {
  const { run, records, digest, problems } = check;
  const ended = run !== undefined && endOf(run.events) !== undefined;
  const sound = problems.length === 0 ? run : undefined;
  const altered = [
    ...problems,
    ...planProblems(sound?.events ?? []),
    ...(sound ? await blobProblems(sound.events, workspace.store.blobs(sound.record.run)) : []),
    ...digestProblems(check, wanted?.toLowerCase()),
  ];
  const open = sound ? openProblems(sound, ended) : [];
  const isOk = altered.length + open.length === 0;
  return {
    verification: {
      ...{ run: run?.record.run ?? given, ok: isOk, ended, records, digest: digest ?? null },
      problems: [...altered, ...open],
    },
    exitCode: isOk ? 0 : altered.length > 0 ? 4 : 1,
  };
}

/** Checks each operation against its digest, and later events against the planned operation. */
function planProblems(events: readonly RunEvent[]): RecordProblem[] {
  const planned = new Map<string, string>();
  const problem = (event: RunEvent, what: string) => ({ ...placeOf(events, event.seq), what });
  return events.flatMap((event) => {
    if (event.type === "operation:planned") {
      const { id, digest } = event.operation;
      planned.set(id, digest);
      const isHeld = operationDigest(event.operation) === digest;
      return isHeld ? [] : [problem(event, `the operation ${id} does not match its digest`)];
    }
    const isLater = "operation" in event && "digest" in event;
    if (!isLater || planned.get(event.operation) === event.digest) return [];
    return [problem(event, `${event.operation} has a different digest than when it was planned`)];
  });
}

/** Checks each blob once, by reading it: the store verifies the content against the id. */
async function blobProblems(events: readonly RunEvent[], blobs: Blobs): Promise<RecordProblem[]> {
  const kept = events.flatMap((event) =>
    event.type === "tool:result" ? (event.blobs ?? []).map(({ blob_id }) => [blob_id, event] as const) : [],
  );
  const problems: RecordProblem[] = [];
  for (const [id, event] of new Map(kept.reverse())) {
    try {
      await blobs.read(id, 0, 0);
    } catch (error) {
      problems.push({ ...placeOf(events, event.seq), what: messageOf(error) });
    }
  }
  return problems.reverse();
}

function digestProblems({ run, digest, records }: RecordCheck, wanted: string | undefined): RecordProblem[] {
  if (wanted === undefined || wanted === digest) return [];
  const events = run?.events ?? [];
  const at = events.findIndex((event) => event.seal === wanted);
  const what =
    at === -1
      ? `its last digest is ${digest ?? "none"}, not ${wanted}: the record was rewritten or truncated`
      : `${wanted} is the digest of line ${at + 2}, and the run was continued or applied since`;
  return [{ record: records, line: events.length + 1, what }];
}

/** Returns problems of an unaltered record that still prevent a positive result. */
function openProblems(run: StoredRun, ended: boolean): RecordProblem[] {
  const last = placeOf(run.events, run.events.length - 1);
  return [
    ...(isUnchained(run) ? [{ record: 1, line: 1, what: "unchained: it was recorded without digests" }] : []),
    ...(ended ? [] : [{ ...last, what: "unfinished: the run has not ended, or the end of its record was cut off" }]),
  ];
}

function placeOf(events: readonly RunEvent[], seq: number): Pick<RecordProblem, "record" | "line"> {
  return { record: 1 + (seq < 0 ? 0 : events.slice(0, seq).filter(({ more }) => !more).length + 1), line: seq + 2 };
}

/** Reads a run of the store that has ended. Throws if it has not, or if its record was cut off or altered. */
export async function readEnded(
  workspace: Workspace,
  given: string,
  { mayWait = false }: { readonly mayWait?: boolean } = {},
): Promise<StoredRun> {
  const { store } = workspace;
  const id = await findRun(store, given);
  const check = await store.verify(id);
  const { run } = check;
  const { verification } = await verifyRecord(workspace, id, { check });
  const [problem] = verification.problems;
  const isWaiting = mayWait && run !== undefined && endOf(run.events)?.status === "waiting";
  const isOver = isWaiting || (run !== undefined && hasEnded(run));
  if (run && verification.ok && isOver) return run;
  if (run && !isOver && check.problems.length === 0 && !isCutOff(workspace, run)) throw notEnded(id, run);
  throw new SkillflowError("run.altered", `run ${id} cannot be used: ${problem?.what ?? "its end is missing"}`, {
    hint: `see skillflow runs verify ${id}`,
  });
}

/** Checks whether a run has ended for good. Waiting and interrupted runs continue later. */
export function hasEnded({ events }: Pick<StoredRun, "events">): boolean {
  const end = endOf(events);
  return end !== undefined && end.status !== "waiting" && end.status !== "interrupted";
}

function notEnded(id: string, { events }: Pick<StoredRun, "events">): SkillflowError {
  const [wait] = waitsIn(events);
  const next = wait ? `skillflow signal ${id} ${shellWord(wait.node)} --approve, or --deny` : `skillflow resume ${id}`;
  return usageError(`run ${id} has not ended`, `if no process runs it, continue it first: ${next}`);
}

/**
 * Checks whether a file lacks the end that its process wrote. A process releases its lock only after the end of a run,
 * so that the lock of a killed process stays.
 */
function isCutOff({ storeDirectory }: Workspace, { record, events }: StoredRun): boolean {
  if (storeDirectory === undefined || endOf(events) !== undefined) return false;
  return !existsSync(filesOfRun(storeDirectory, record.run).lock);
}
