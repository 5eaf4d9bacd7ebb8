import { resultSchema, textLike } from "skillflow/internal";
import * as z from "zod";

/** Parameters that several tools share. */

export const issue = textLike(/^([A-Za-z0-9]{1,12}-\d{1,9}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$/, 36);

export const parent = textLike(
  /^(none|[A-Za-z0-9]{1,12}-\d{1,9}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$/,
  36,
);

/** Name, key or id of a team, state, label, project or person. */
export const name = textLike(/^[^\r\n]+$/, 200);

export const assignee = name.describe("E-mail address, display name, `me` or id.");

export const labels = z.array(name).max(20);

export const title = z.string().min(1).max(256);

export const body = z.string().max(60_000).describe("Markdown.");

const PRIORITIES = ["none", "urgent", "high", "medium", "low"] as const;

export const priority = z.enum(PRIORITIES);

/** Returns Linear's number for a priority, from 0 (none) and 1 (urgent) to 4. */
export function priorityNumber(value: (typeof PRIORITIES)[number]): number {
  return PRIORITIES.indexOf(value);
}

export const limit = z.int().min(1).max(30).optional();

export const cursor = textLike(/^[\w+/=.:-]+$/, 300).optional();
export const paged = { limit, cursor };

const DEFAULT_LIMIT = 10;

export function paging(input: { readonly limit?: number | undefined; readonly cursor?: string | undefined }) {
  return { first: input.limit ?? DEFAULT_LIMIT, ...(input.cursor ? { after: input.cursor } : {}) };
}

/** Returns the schema of a page. Its list is always present, and empty if nothing matches. */
export function pageSchema(list: string, item: string) {
  return resultSchema(list, `${list}:[{ ${item} }] next_cursor`);
}

/** Page of a GraphQL connection. */
export interface Page<Node> {
  readonly nodes: readonly Node[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor?: string | null };
}

export function nextCursor({ pageInfo }: Page<unknown>): string | undefined {
  return pageInfo.hasNextPage ? (pageInfo.endCursor ?? undefined) : undefined;
}

export function isId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}
