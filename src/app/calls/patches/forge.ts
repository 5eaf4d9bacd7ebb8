import type { Patch } from "../../../core/engine/event/patch.ts";
import type { Entry, FileState } from "./git.ts";
import type { MergedFile } from "./merge.ts";

/** A place that takes branches and requests: GitHub, GitLab, or any other Git remote. */
export interface Forge {
  head(): Promise<{ readonly branch: string; readonly commit: string }>;
  /** Commit of a branch. Undefined if there is no such branch. */
  find(branch: string): Promise<string | undefined>;
  /** Message of a commit and its first parent, which is empty if it has none. */
  commit(commit: string): Promise<{ readonly message: string; readonly parent: string }>;
  file(commit: string, path: string): Promise<FileState | undefined>;
  /** Lists a folder. Empty if there is none. */
  list(commit: string, folder: string): Promise<readonly Entry[]>;
  /** Paths of the files that differ. Both, of a file that moved. */
  changed(from: string, to: string): Promise<readonly string[]>;
  /** Creates the branch with one commit on the head. Fails if the branch exists. */
  create(
    branch: string,
    commit: { readonly head: string; readonly files: readonly MergedFile[]; readonly message: string },
  ): Promise<void>;
  /** Finds or makes the request for the branch. Undefined if the place has no requests. */
  request?(patch: Patch, body: string, target: string): Promise<{ readonly url: string; readonly existing: boolean }>;
}
