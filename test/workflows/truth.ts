import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import * as z from "zod";

/** The true cause of an incident: its truth.yml, which investigators do not see. */

const text = z.string().min(1);
const commit = z.string().regex(/^[0-9a-f]{40}$/);

/** A text in one file of the incident, or in one commit of its bundle. */
const place = { in: text, commit: commit.optional(), text };

export const truthSchema = z.strictObject({
  verdict: z.enum(["incident", "false_alarm", "inconclusive"]),
  cause: z.strictObject({
    kind: z.enum(["change", "load", "dependency", "infrastructure", "data", "unknown"]),
    commit: commit.nullable(),
    what: text,
  }),
  /** Places that prove it. */
  needles: z.array(z.strictObject({ ...place, proves: text })).min(2),
  /** Places that look like the cause and are not. */
  decoys: z.array(z.strictObject({ ...place, innocent: text })).min(1),
});
export type Truth = z.infer<typeof truthSchema>;
export type Place = Pick<Truth["needles"][number], "in" | "commit" | "text">;

export interface Incident {
  readonly name: string;
  readonly folder: string;
  /** The payload of the monitoring system. */
  readonly alert: Readonly<Record<string, unknown>>;
  readonly truth: Truth;
}

/** Every incident below a root, by name. */
export function readIncidents(root: string): readonly Incident[] {
  const all = join(root, "workflows/incidents");
  const names = readdirSync(all).filter((name) => existsSync(join(all, name, "alert.json")));
  return names.sort().map((name) => {
    const folder = join(all, name);
    const alert = JSON.parse(readFileSync(join(folder, "alert.json"), "utf8"));
    return { name, folder, alert, truth: truthSchema.parse(parse(readFileSync(join(folder, "truth.yml"), "utf8"))) };
  });
}
