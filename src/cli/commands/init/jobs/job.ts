export interface CiJob {
  /** Path of the workflow in the repository. */
  readonly workflow: string;
  /** Value for `--model`. Undefined to use the model of the workflow or project. */
  readonly model?: string;
  /** Variable of the model's API key, if it needs one. */
  readonly key?: string;
  /** Variables that skills need for reading, in the job that calls the model. */
  readonly reads: readonly string[];
  /** Branch that stores the state. Undefined if the workflow keeps none. */
  readonly state?: string;
  /** Variables that skills need for writing, in the job that applies the plan. */
  readonly writes: readonly string[];
}
