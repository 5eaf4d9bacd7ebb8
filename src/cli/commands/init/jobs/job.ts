/** What a job of a CI system runs, and what it needs for it. */
export interface CiJob {
  /** The workflow's path in the repository. */
  readonly workflow: string;
  /** As --model takes it; undefined where the workflow or the project says. */
  readonly model?: string;
  /** The variable of the model's key; undefined where there is none. */
  readonly key?: string;
  /** The variables that skills need to read, in the job that asks the model. */
  readonly reads: readonly string[];
  /** The branch that keeps what runs remember; undefined where nothing is. */
  readonly state?: string;
  /** Those that they need to write, in the job that applies the plan. */
  readonly writes: readonly string[];
}
