import type { Patch } from "../../../core/engine/event/patch.ts";
import type { FileState, MergedFile } from "./merge.ts";

/** A place that takes branches and requests: GitHub, GitLab, or any other Git remote. */
export interface Forge {
  /** Head of the default branch. */
  head(): Promise<Head>;
  /** Commit of a branch and its first parent. Undefined if there is no such branch. */
  find(branch: string): Promise<Found | undefined>;
  file(commit: string, path: string): Promise<FileState | undefined>;
  /** Paths that differ between two commits. */
  changed(from: string, to: string): Promise<readonly string[]>;
  /** Creates the branch with one commit on the head. Fails if the branch exists. */
  create(branch: string, commit: NewCommit): Promise<void>;
  /** Finds or makes the request for the branch. Undefined if the place has no requests. */
  request?(patch: Patch, body: string, target: string): Promise<Requested>;
}

export interface Head {
  readonly branch: string;
  readonly commit: string;
}

export interface Found {
  readonly commit: string;
  readonly parent: string;
}

export interface NewCommit {
  readonly head: string;
  readonly files: readonly MergedFile[];
  readonly message: string;
}

export interface Requested {
  readonly url: string;
  readonly existing: boolean;
}
