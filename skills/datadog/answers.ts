import { resultSchema, type Shape } from "skillflow";
import * as z from "zod";

/** Parts of answers. A part of another type than published counts as absent: one odd field does not spoil a result. */

export const text = z.string().nullish().catch(undefined);

export const number = z.number().nullish().catch(undefined);

export const texts = z.array(z.string()).nullish().catch(undefined);

export const anything = z.record(z.string(), z.unknown()).nullish().catch(undefined);

/** Where the page after this one begins, in what version 2 calls `meta`. */
export const cursorMeta = z
  .object({
    page: z.object({ after: text }).nullish().catch(undefined),
    status: text,
    warnings: z
      .array(z.object({ title: text, detail: text }))
      .nullish()
      .catch(undefined),
  })
  .nullish()
  .catch(undefined);

/** What a page says of itself: where the next one begins, and whether it is whole. */
export function pageNotes(meta: z.infer<typeof cursorMeta>) {
  const warnings = meta?.warnings?.map(({ title, detail }) => [title, detail].filter(Boolean).join(": "));
  return {
    next_cursor: meta?.page?.after,
    incomplete: meta?.status === "timeout" ? "Datadog ran out of time: narrow the query or the period." : undefined,
    warnings: warnings?.length ? warnings.slice(0, 5) : undefined,
  };
}

/** The schema of a result that may be one page of several: its list is always there, empty where nothing matches. */
export function pageSchema(list: string, item: Shape, more: { readonly [member: string]: Shape } = {}) {
  return resultSchema(
    { ...more, [list]: [item], next_cursor: "text", next_page: "number", incomplete: "text", warnings: ["text"] },
    list,
  );
}

/** The value at a dotted path; a member whose own name has dots is found too. */
export function valueAt(root: unknown, path: string): unknown {
  if (typeof root !== "object" || root === null) return undefined;
  const members = root as Readonly<Record<string, unknown>>;
  if (Object.hasOwn(members, path)) return members[path];
  const [first = "", ...rest] = path.split(".");
  return rest.length > 0 && Object.hasOwn(members, first) ? valueAt(members[first], rest.join(".")) : undefined;
}

/** The asked-for attributes that are there, by their paths. */
export function picked(root: unknown, paths: readonly string[] | undefined) {
  const found = (paths ?? []).map((path) => [path, valueAt(root, path)] as const);
  const present = found.filter(([, value]) => value !== undefined);
  return present.length > 0 ? Object.fromEntries(present) : undefined;
}

export function isoTime(milliseconds: number | null | undefined): string | undefined {
  const date = new Date(milliseconds ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
