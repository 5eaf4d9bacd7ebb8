import type { BlobInfo } from "../../base/blobs.ts";
import type { Json } from "../../base/values.ts";
import type { ToolDescriptor } from "../../skill/skill.ts";
import type { EventOf, StepKey } from "./event.ts";

/** A tool that the run itself defined, with the body of its handler. */
export type MadeTool = Pick<EventOf<"tool:defined">, "tool" | "parameters" | "code" | "persistent">;

/** A call to carry out: its input fits its tool's schema. */
export interface Call {
  readonly key: StepKey;
  /** The id that its handler knows it by; made of the run and the key unless told. */
  readonly id?: string;
  /** The reference that its result is to have. */
  readonly ref?: string;
  readonly tool: ToolDescriptor;
  readonly input: Json;
  /** The tool, defined by the run itself, that it runs or removes. */
  readonly made?: MadeTool;
  /** The call whose result it reads again. */
  readonly again?: RecordedCall;
  /** The instruction that it reads, as it is at its node. */
  readonly reading?: string;
  /** What it comes to, where that is known by the run's own memory. */
  readonly recalled?: Json;
}

/** A call that was announced, and what it came to. */
export interface RecordedCall {
  readonly ref: string;
  readonly node: string;
  /** The inner run that made it. */
  readonly at?: string;
  readonly tool: string;
  readonly input: Json;
  /** It became an operation of the plan. */
  planned?: boolean;
  outcome: { readonly output: Json; readonly blobs?: readonly BlobInfo[] } | { readonly error: string } | undefined;
}
