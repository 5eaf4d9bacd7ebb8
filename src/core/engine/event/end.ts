import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { lazyObject, optional } from "../../skill/field.ts";

const optionSchema = lazy(() =>
  z.object({ option: z.string().describe("Command-line name without dashes"), value: z.string().optional() }),
);

export const runErrorSchema = lazyObject(() => ({
  code: z.string(),
  message: z.string(),
  hint: optional(
    z.union([z.string(), z.array(z.union([z.string(), optionSchema()]))]),
    "Text, or parts of it, of which each surface writes the options in its own way",
  ),
  node: z.string().optional(),
}));
export type RunError = Fitting<typeof runErrorSchema>;

export const shownErrorSchema = lazy(() => runErrorSchema().extend({ hint: z.string().optional() }));

export const RUN_STATUSES = ["succeeded", "failed", "stopped", "interrupted", "waiting", "skipped"] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** A reason why a visit did less than its node is for, although the run went on. */
const shortfallSchema = lazyObject(() => ({
  skill: optional(z.string(), "Skill that fell short. Absent if it was the node itself."),
  partial: optional(z.literal(true), "The node had the skill, but not the part that the reason names"),
  ref: optional(z.string(), "Reference of the failed call that the reason names"),
  reason: z.string(),
}));
export const shortfallsSchema = lazy(() => z.array(shortfallSchema()));
export type Shortfall = Fitting<typeof shortfallSchema>;

export const degradedSchema = lazy(() => z.array(z.object({ node: z.string(), ...shortfallSchema().shape })));
export type Degraded = Fitting<typeof degradedSchema>[number];

/** A run that ended at a node because none of the edges that lead on from there applied. */
export const unroutedSchema = lazyObject(() => ({
  node: z.string().describe("Last node"),
  edges: z
    .array(z.object({ to: z.string(), reason: z.string() }))
    .describe("Edges of the node, and why each did not apply"),
}));
export type Unrouted = Fitting<typeof unroutedSchema>;

export const waitingSchema = lazyObject(() => ({
  node: z.string().describe("Node name in the form that signal accepts: ask, top/each[fp-81]/ask"),
  ask: z.string(),
  since: z.string().describe("ISO 8601"),
  until: optional(z.string(), "ISO 8601. Absent if the run waits forever."),
  digest: optional(z.string(), "Digest of the plan to approve"),
}));
export type Waiting = Fitting<typeof waitingSchema>;

/** Formats a line for people. `name` is the node's display name. */
export function unroutedText(name: string, edges: number): string {
  return `ended at ${name}: ${edges === 1 ? "its only edge did not apply" : `none of its ${edges} edges applied`}`;
}

export function shortfallText({ skill, reason }: Shortfall): string {
  return skill === undefined ? reason : `without ${skill}: ${reason}`;
}
