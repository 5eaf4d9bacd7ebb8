import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { groupBy } from "../../core/base/values.ts";
import { type Update, updateOf } from "../../core/outward/testing/update.ts";
import { temporaryName } from "../../files/temporary-name.ts";
import { editYaml } from "../../loaders/text/edit-yaml.ts";
import { fileStore } from "../../stores/file/store.ts";
import type { Workspace } from "../host.ts";
import { rootOfTest } from "./find.ts";
import { recordCase } from "./run-case.ts";
import type { TestedCase } from "./run-tests.ts";

export interface AcceptedFile {
  readonly path: string;
  readonly text: string;
  readonly root: string;
}

export function updatesOf({ ready, index, runs }: TestedCase): readonly Update[] {
  const expected = ready.test.cases[index]?.expect ?? {};
  return (runs[0]?.failures ?? []).flatMap((failure) => updateOf(failure, expected) ?? []);
}

/** Returns test files that expect the actual results, and recordings with the current prompts. */
export async function acceptTests(
  workspace: Workspace,
  tested: readonly TestedCase[],
): Promise<readonly AcceptedFile[]> {
  const failed = tested.filter(({ passed }) => !passed);
  const texts = [...groupBy(failed, ({ ready }) => ready.loaded)].flatMap(([{ path, text: before }, cases]) => {
    const edits = cases.flatMap(({ index, runs }) =>
      (runs[0]?.failures ?? []).flatMap(({ accept }) =>
        accept ? [{ path: ["cases", index, "expect", ...accept.keys], value: accept.value }] : [],
      ),
    );
    const text = editYaml(before, edits);
    return text === before ? [] : [{ path, text, root: rootOfTest(workspace.host, path) }];
  });
  return [...texts, ...(await newRecordings(workspace, failed))];
}

async function newRecordings(workspace: Workspace, failed: readonly TestedCase[]): Promise<readonly AcceptedFile[]> {
  const recordings = new Map<string, AcceptedFile>();
  for (const { ready, model, index, runs } of failed) {
    const which = ready.test.cases[index];
    const isChanged = runs[0]?.failures.some(({ path }) => path === "prompts");
    const { path, serving } = model;
    if (!isChanged || !which || path === undefined || serving?.provider !== "replay" || recordings.has(path)) continue;
    const folder = mkdtempSync(join(tmpdir(), temporaryName("accept", workspace.host.self)));
    try {
      const { self, isAlive } = workspace.host;
      const store = fileStore({ directory: folder, root: undefined, self, isAlive });
      const run = "accepted";
      const signal = new AbortController().signal;
      await recordCase({ ...workspace, store, storeDirectory: folder }, { ready, model, which, signal }, run);
      const text = readFileSync(join(folder, `${run}.jsonl`), "utf8");
      recordings.set(path, { path, text, root: rootOfTest(workspace.host, ready.loaded.path) });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return [...recordings.values()];
}
