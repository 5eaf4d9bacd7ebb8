import * as z from "zod";

/** The parameters that several tools share. */

export const issue = z
  .string()
  .max(36)
  .regex(/^([A-Za-z0-9]{1,12}-\d{1,9}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$/)
  .describe("The issue as ENG-123, or its id.");

const name = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\r\n]+$/);

export const team = name.describe("The team's name, its key such as ENG, or its id.");

export const state = name.describe("The workflow state's name, such as In Progress, or its id.");

export const project = name.describe("The project's name or id.");

export const assignee = name.describe("An e-mail address, a display name, `me`, or a user's id.");

export const labels = z.array(name).max(20).describe("Label names or ids.");

export const title = z.string().min(1).max(256).describe("The title, one line.");

export const body = z.string().max(60_000).describe("The text, in Markdown.");

const PRIORITIES = ["none", "urgent", "high", "medium", "low"] as const;

export const priority = z.enum(PRIORITIES).describe("How urgent it is.");

/** Linear counts from 0, no priority, and 1, urgent, to 4. */
export function priorityNumber(value: (typeof PRIORITIES)[number]): number {
  return PRIORITIES.indexOf(value);
}

export const limit = z.int().min(1).max(30).optional().describe("How many items one page holds. 10 when absent.");

export const cursor = z
  .string()
  .max(300)
  .regex(/^[\w+/=.:-]+$/)
  .optional()
  .describe("`next_cursor` of the last answer, for the page after it.");

const DEFAULT_LIMIT = 10;

/** Linear's paging variables for a tool's. */
export function paging(input: { readonly limit?: number | undefined; readonly cursor?: string | undefined }) {
  return { first: input.limit ?? DEFAULT_LIMIT, ...(input.cursor ? { after: input.cursor } : {}) };
}

/** A page of Linear's connections. */
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
