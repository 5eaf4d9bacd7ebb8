/**
 * A run as spans, by the GenAI semantic conventions: `invoke_workflow`, in it an `invoke_agent` for each visit, in that a
 * `chat` for each answer of a model and an `execute_tool` for each call. A run that was resumed has an `invoke_workflow`
 * for each time that it ended. All is told from the events, so that an old run gives what it gave when it ended.
 */

export interface Span {
  /** The key of the step that it is of: unique in the run. */
  readonly key: string;
  readonly parent: string | undefined;
  readonly name: string;
  readonly kind: "internal" | "client";
  readonly startedAt: string;
  readonly endedAt: string;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  readonly error: { readonly type: string; readonly message?: string } | undefined;
  /** How many times the run had been resumed after an end. */
  readonly part: number;
}

export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[] | Whole>>;

/** Told as an integer, whatever its value. */
export interface Whole {
  readonly int: number;
}

export interface SpanEvent {
  readonly name: string;
  readonly time: string;
  readonly attributes: Attributes;
}
