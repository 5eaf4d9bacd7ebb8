import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { lazyObject, optional } from "../../skill/field.ts";
import { bodies } from "./bodies.ts";

type Bodies = ReturnType<typeof bodies>;
type BodyOf<Type extends keyof Bodies> = { type: Type } & z.infer<z.ZodObject<Bodies[Type]>>;
/** Events of these types. Generic, so that tables of functions by type can be called with the event itself. */
export type EventOf<Type extends keyof Bodies> = { [Each in Type]: BodyOf<Each> }[Type];
export type EventBody = EventOf<keyof Bodies>;

const envelope = lazyObject(() => ({
  seq: z.int().describe("Position in the run, from 0"),
  time: z.string().describe("ISO 8601"),
  epoch: z.int().describe("Number of times that the run had been opened before"),
  key: z.string().describe("Step that the event belongs to"),
  at: optional(
    z.string(),
    "Path of the inner run that the event belongs to: each[fp-81], top/each[fp-81]. Absent for the run itself.",
  ),
  more: optional(z.literal(true), "The next event belongs to the same record"),
  record: optional(z.string(), "In the first event: sha256 of the run's own line, which precedes it"),
  seal: optional(
    z.string(),
    "In a record's last event: sha256 of the previous seal (in the first record: `record`) and of the record's lines up to here",
  ),
}));
/** Fields of an event besides its body. `record` and `seal` are absent if the store keeps no hash chain. */
export type Envelope = Fitting<typeof envelope>;

/** An event to record. `key` and `at` name its step and inner run if they differ from the current ones. */
export type Entry = EventBody & { readonly key?: StepKey; readonly at?: string | undefined };

export const eventSchema = lazy((): z.ZodType => {
  const of = (type: string, body: z.ZodRawShape) => z.object({ type: z.literal(type), ...body, ...envelope().shape });
  const { "workflow:start": start, ...others } = bodies();
  const all = Object.entries(others).map(([type, body]) => of(type, body));
  return z.discriminatedUnion("type", [of("workflow:start", start), ...all]);
});

/** An event as observers receive it. */
export type RunEvent = EventBody & Envelope;

/** Identifies a step of a run, such as `3:assess/0/2`. Unique in the run, and stable on resume and replay. */
export type StepKey = string;
