import { lenient, memberAt, resultSchema } from "skillflow/internal";
import * as z from "zod";

/** Fields of responses. One of an unexpected type counts as absent, so that it does not fail the whole result. */

export const text = lenient(z.string());
export const number = lenient(z.number());
export const texts = lenient(z.array(z.string()));
export const anything = lenient(z.record(z.string(), z.unknown()));

/** Metadata of version 2 with the next page's cursor. */
export const cursorMeta = lenient(
  z.object({
    page: lenient(z.object({ after: text })),
    status: text,
    warnings: lenient(z.array(z.object({ title: text, detail: text }))),
  }),
);

/** Returns the next page's cursor, warnings, and whether the page is incomplete. */
export function pageNotes(meta: z.infer<typeof cursorMeta>) {
  const warnings = meta?.warnings?.map(({ title, detail }) => [title, detail].filter(Boolean).join(": "));
  return {
    next_cursor: meta?.page?.after,
    incomplete: meta?.status === "timeout" ? "Datadog timed out. Narrow the query or the period." : undefined,
    warnings: warnings?.length ? warnings.slice(0, 5) : undefined,
  };
}

/** Returns the schema of a result with pages. Its list is always present, and empty if nothing matches. */
export function pageSchema(list: string, item: string, more = "") {
  return resultSchema(list, `${more} ${list}:[{ ${item} }] next_cursor next_page:number incomplete warnings:[text]`);
}

export function picked(root: unknown, paths: readonly string[] | undefined) {
  const found = (paths ?? []).map((path) => [path, memberAt(root, path)] as const);
  const present = found.filter(([, value]) => value !== undefined);
  return present.length > 0 ? Object.fromEntries(present) : undefined;
}
