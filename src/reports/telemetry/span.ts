/**
 * Span of a run, according to the GenAI semantic conventions. A run is an `invoke_workflow` span with an `invoke_agent`
 * for each visit, which has a `chat` for each model reply and an `execute_tool` for each call. Each resume starts a new
 * `invoke_workflow`. Spans depend only on events, so a later export gives the same ones.
 */

export interface Span {
  /** Key of its step, unique in the run. */
  readonly key: string;
  readonly parent: string | undefined;
  readonly name: string;
  readonly kind: "internal" | "client";
  readonly startedAt: string;
  readonly endedAt: string;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  readonly error: { readonly type: string; readonly message?: string } | undefined;
  /** Number of times the run had been resumed after an end. */
  readonly part: number;
}

export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[] | Whole>>;

/** Number that is exported as an integer. */
export interface Whole {
  readonly int: number;
}

export interface SpanEvent {
  readonly name: string;
  readonly time: string;
  readonly attributes: Attributes;
}
