import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SkillflowError } from "../../core/base/errors.ts";
import { isObject, lazy } from "../../core/base/values.ts";
import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import { fold } from "../../core/engine/fold/fold.ts";
import { isUnder } from "../../core/engine/fold/limits.ts";
import { foldResume } from "../../core/engine/fold/redo.ts";
import { begin, type State } from "../../core/engine/fold/state.ts";
import { changesCopy, WORKSPACE } from "../../core/engine/tools/workspace.ts";
import { temporaryName } from "../../files/temporary-name.ts";
import { type Copy, openCopy } from "../../loaders/own/workspace/copy.ts";
import { type RecordedEdit, repeatEdits } from "../../loaders/own/workspace/skill.ts";
import type { Afterwards } from "../../run/recall.ts";
import { copyOfRun } from "../../stores/file/store.ts";
import type { Workspace } from "../host.ts";

/** The working copy of a run: made at the first call, rebuilt from the record after a crash, removed at the end. */

export interface RunCopy {
  readonly copy: () => Copy;
  /** Removes the copy, if it was made. */
  remove(): void;
}

interface Past {
  readonly events: readonly RunEvent[];
  readonly afterwards: readonly Afterwards[];
  /** False if the fixtures of a test answer for the copy. */
  readonly isReal: boolean;
}

/** Returns the copy of a run. Throws `run.altered` if earlier edits cannot be repeated. */
export function openRunCopy({ host, storeDirectory }: Workspace, record: RunRecord, past: Past): RunCopy {
  let made: Copy | undefined;
  const copy = lazy(() => {
    if (record.kind === "replay" || record.base === undefined) {
      throw new SkillflowError("call.refused", "this run has no working copy");
    }
    const temporary = () => mkdtempSync(join(tmpdir(), temporaryName("copy", host.self)));
    const folder = storeDirectory === undefined ? temporary() : copyOfRun(storeDirectory, record.run);
    made = openCopy({ checkout: host.cwd, base: record.base, folder, env: host.env });
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
