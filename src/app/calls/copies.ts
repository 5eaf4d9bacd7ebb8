import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SkillflowError, usageError } from "../../core/base/errors.ts";
import type { Redactor } from "../../core/base/redact/redact.ts";
import { isObject, lazy } from "../../core/base/values.ts";
import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import { fold } from "../../core/engine/fold/fold.ts";
import { isUnder } from "../../core/engine/fold/limits.ts";
import { foldResume } from "../../core/engine/fold/redo.ts";
import { begin, type State } from "../../core/engine/fold/state.ts";
import { TOKEN } from "../../core/engine/plan/proposal.ts";
import type { RunChoices } from "../../core/engine/settings/settings.ts";
import { changesCopy, WORKSPACE } from "../../core/engine/tools/workspace.ts";
import { temporaryName } from "../../files/temporary-name.ts";
import { type Copy, openCopy } from "../../loaders/own/workspace/copy.ts";
import { readDirty } from "../../loaders/own/workspace/dirty.ts";
import { type RecordedEdit, repeatEdits } from "../../loaders/own/workspace/skill.ts";
import { resolveCommit } from "../../loaders/sources/commit-files.ts";
import type { Afterwards } from "../../run/recall.ts";
import { copyOfRun } from "../../stores/file/store.ts";
import type { Workspace } from "../host.ts";
import type { SkillEntries } from "../skills/entries.ts";

/** The working copy of a run: made at the first call, rebuilt from the record after a crash, removed at the end. */

export type RunCopy = ReturnType<typeof openRunCopy>;

/** Returns the commit at which a run's working copy starts, if a node can have one, and the uncommitted changes. */
export function startOfCopy(
  { host: { cwd, env, documents }, root, storeDirectory: store }: Workspace,
  { gathered, redactor }: { readonly gathered: SkillEntries; readonly redactor: Redactor },
  { workspaceDirty = false }: RunChoices,
): Pick<RunRecord, "base" | "dirty" | "warnings"> {
  if (workspaceDirty && documents) {
    throw usageError(`--workspace-dirty cannot be used with ${documents.by}, because the checkout is only data then`);
  }
  const entry = gathered.get(WORKSPACE);
  const canStart = entry && entry.unavailable === undefined;
  const base = canStart ? (documents?.commit ?? resolveCommit({ root: cwd, env }, "HEAD")) : undefined;
  if (!workspaceDirty) return { base, warnings: [] };
  if (base === undefined || !existsSync(join(root, ".git"))) {
    return { base, warnings: ["--workspace-dirty changes nothing: the run has no working copy of a checkout"] };
  }
  const isSecret = (text: string) => TOKEN.test(text) || redactor.text(text) !== text;
  const { dirty, leftOut } = readDirty({ root, commit: base, env, store, isSecret });
  return { base, dirty, warnings: leftOut === "" ? [] : [`--workspace-dirty leaves out: ${leftOut}`] };
}

interface Past {
  readonly events: readonly RunEvent[];
  readonly afterwards: readonly Afterwards[];
  /** False if the fixtures of a test answer for the copy. */
  readonly isReal: boolean;
}

/** Returns the copy of a run. Throws `run.altered` if earlier edits cannot be repeated. */
export function openRunCopy({ host, root, storeDirectory }: Workspace, record: RunRecord, past: Past) {
  let made: Copy | undefined;
  const copy = lazy(() => {
    if (record.kind === "replay" || record.base === undefined) {
      throw new SkillflowError("call.refused", "this run has no working copy");
    }
    if (resolveCommit({ root, env: host.env }, record.base) === undefined) {
      const message = `the working copy of run ${record.run} starts at commit ${record.base}, which is not in this repository`;
      throw usageError(message, "fetch the commit, or start a new run");
    }
    const temporary = () => mkdtempSync(join(tmpdir(), temporaryName("copy", host.self)));
    const folder = storeDirectory === undefined ? temporary() : copyOfRun(storeDirectory, record.run);
    made = openCopy({ checkout: root, base: record.base, folder, env: host.env });
    // Deletions come first, because a file may now be where a folder was.
    const dirty = (record.dirty ?? []).toSorted((a, b) => Number(a.content !== null) - Number(b.content !== null));
    for (const { path, content } of dirty) made.put(path, content === null ? undefined : Buffer.from(content));
    return made;
  });
  const edits = record.kind === "replay" || !past.isReal ? [] : editsOf(record, past);
  if (edits.length > 0) repeatEdits(copy(), edits);
  return { copy, remove: () => made?.remove() };
}

/** Returns the edits of the record, without those of visits that a resume repeats. */
function editsOf(record: RunRecord, { events, afterwards }: Omit<Past, "isReal">): readonly RecordedEdit[] {
  if (!record.skills.some(({ id }) => id === WORKSPACE)) return [];
  const tools = new Map(
    record.skills.flatMap(({ tools }) =>
      tools.filter(changesCopy).map(({ exposed, name }) => [exposed, name] as const),
    ),
  );
  const inputs = new Map<string, RecordedEdit["input"]>();
  const state = begin(record, 0);
  let edits: (RecordedEdit & { readonly id: string })[] = [];
  const resume = (body: EventOf<"run:resume">, work: () => void) => {
    const before = keysOf(state);
    work();
    const left = new Set(keysOf(state));
    const redone = body.from === undefined ? [] : before.filter((key) => !left.has(key));
    edits = edits.filter(({ id }) => !redone.some((key) => isUnder(id, key)));
  };
  for (const event of events) {
    if (event.type === "tool:call" && isObject(event.input)) inputs.set(event.id, event.input);
    const name = event.type === "tool:result" ? tools.get(event.tool) : undefined;
    if (event.type === "tool:result" && name !== undefined && event.output !== undefined && event.error === undefined) {
      edits.push({ id: event.id, name, input: inputs.get(event.id) ?? {}, output: event.output });
    }
    if (event.type === "run:resume") resume(event, () => fold(state, event));
    else fold(state, event);
  }
  for (const { body } of afterwards) {
    if (body.type === "run:resume") resume(body, () => foldResume(state, body));
  }
  return edits;
}

function keysOf({ path }: State): string[] {
  return path.map(({ key }) => key);
}
