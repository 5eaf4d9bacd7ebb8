import * as z from "zod";
import { type Fitting, isObject, lazy } from "../../base/values.ts";
import { modelChoice } from "../../document/model-list.ts";
import { lazyObject, text } from "../../skill/field.ts";
import { degradedSchema, RUN_STATUSES, runErrorSchema, unroutedSchema } from "./end.ts";
import { runHeadSchema } from "./record.ts";
import { usageSchema } from "./reply.ts";

/** The part of a run that a list shows. Only this part of a stored run is validated. */
export interface SkimmedRun {
  readonly record: RunOutline;
  readonly events: readonly Skimmed[];
}

const moment = lazy(() => ({ time: z.string(), epoch: z.int(), at: z.string().optional() }));

const modelSchema = lazyObject(() => ({ model: modelChoice() }));

const tellingSchema = lazy(() =>
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("model:reply"), ...moment(), usage: usageSchema().nullable() }),
    z.object({ type: z.literal("operation:planned"), ...moment() }),
    z.object({
      type: z.literal("workflow:end"),
      ...moment(),
      status: z.enum(RUN_STATUSES),
      verdict: z.string().optional(),
      degraded: degradedSchema().optional(),
      unrouted: unroutedSchema().pick({ node: true }).optional(),
      error: runErrorSchema().optional(),
    }),
    z.object({
      type: z.literal(["run:resume", "approval:given"]),
      ...moment(),
      settings: modelSchema().partial(),
      later: z.literal(true).optional(),
    }),
  ]),
);

const otherSchema = lazy(() => z.object({ type: z.string().transform(() => "other" as const), ...moment() }));

/** The part of an event that a summary needs. For most events, that is only the time. */
export type Skimmed = Fitting<typeof tellingSchema> | Fitting<typeof otherSchema>;

const telling = lazy(() => new Set<unknown>(tellingSchema().options.flatMap(({ shape }) => [...shape.type.values])));

export function isTelling(type: unknown): boolean {
  return telling().has(type);
}

const outlined = lazy(() => {
  return new Set([tellingSchema().options, outlineSchema()].flat().flatMap(({ shape }) => Object.keys(shape)));
});

/** Whether a summary needs this member of a record or of an event. */
export function isOutlined(name: string): boolean {
  return outlined().has(name);
}

export function skimEvent(event: object): Skimmed | undefined {
  const schema = "type" in event && isTelling(event.type) ? tellingSchema() : otherSchema();
  return schema.safeParse(event).data;
}

/** Picking these members from the schemas of a record would build all of those first. */
const outlineSchema = lazyObject(() => ({
  ...runHeadSchema().shape,
  workflow: z.object({ id: text(), name: text(), nodes: z.custom<{ readonly [id: string]: unknown }>(isObject) }),
  settings: modelSchema(),
  about: z.object({ run: z.string(), question: z.string() }).optional(),
}));
type RunOutline = Fitting<typeof outlineSchema>;

export function skimRecord(record: object): RunOutline | undefined {
  return outlineSchema().safeParse(record).data;
}
