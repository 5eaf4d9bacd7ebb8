import { jobLogShape, resultSchema, textLike } from "skillflow/internal";
import * as z from "zod";

/** Parameters that several tools share. */

export const repository = textLike(/^[A-Za-z0-9_-]{1,39}\/[A-Za-z0-9._-]{1,100}$/, 140)
  .optional()
  .describe("owner/name");

export const number = z.int().min(1).max(2_147_483_647);

export const limit = z.int().min(1).max(30).optional();

export const page = z.int().min(1).max(100).optional();
export const paged = { limit, page };

export const ref = textLike(/^[^\s:?*~^\\[\]]+$/, 255);

export const filePath = textLike(/^[^\\\r\n\t]*$/, 1000);

export const title = z.string().min(1).max(256);

export const body = z.string().max(60_000).describe("Markdown.");

export const labels = z.array(z.string().min(1).max(50)).max(20).describe("Unknown names are created.");

export const assignees = z
  .array(textLike(/^[A-Za-z0-9_[\]-]+$/, 60))
  .max(10)
  .describe("Login names.");

const DEFAULT_LIMIT = 10;

export function paging(input: { readonly limit?: number | undefined; readonly page?: number | undefined }) {
  return { per_page: input.limit ?? DEFAULT_LIMIT, page: input.page ?? 1 };
}

/** Throws on path segments that a URL parser would resolve. Encoding does not protect `..`. */
export function safePath(text: string): string {
  const path = text.replace(/^\/+|(?<!\/)\/+$/g, "");
  const steps = path.split("/");
  if (steps.includes("..") || steps.includes("."))
    throw new Error(`"${text}" must not contain "." or ".." as a segment.`);
  return path;
}

/** Throws on text that cannot be a ref. Git does not allow `..` in names. */
export function safeRef(text: string): string {
  if (text.includes("..") || text === "." || text.startsWith("-") || text.startsWith("/")) {
    throw new Error(`"${text}" is not a branch, a tag or a commit's sha.`);
  }
  return text;
}

/** Returns the schema of a page. Its list is always present, and empty if there are no items. */
export function pageSchema(list: string, item: string, more = "") {
  return resultSchema(list, `${more} ${list}:[{ ${item} }] next_page:number`);
}

/** Returns the schema of a write's result. `existing` is set if an earlier attempt of the same call did the work. */
export function writtenSchema(always: string, members: string) {
  return resultSchema(always, `${members} existing:flag`);
}

export const SEARCHED = "total_count:number incomplete:flag";

export const ISSUE = `number:number id:any title state state_reason is_pull_request:flag author labels:[text] assignees:[text] milestone
  comments:number created_at updated_at url`;

export const PULL = `number:number id:any title state draft:flag author head:{ ref sha repository } base:{ ref sha } labels:[text]
  created_at updated_at merged_at url`;

export const COMMIT = "sha subject author date url";

export const CHANGE = "path previous_path status additions:number deletions:number patch";

export const COMMENT = "id:any author created_at url body";

export const JOB = `id:any name status conclusion failed_steps:[text] completed_at url ${jobLogShape}`;

/** Returns a search query limited to the repository, unless the query names a scope itself. */
export function searchQuery(query: string, repository: string | undefined, extra: readonly string[] = []): string {
  const isPlaced = /(^|[\s(])(repo|org|user):\S/i.test(withoutQuoted(query));
  return [query, ...extra, ...(repository && !isPlaced ? [`repo:${repository}`] : [])].join(" ");
}

/** Groups alternatives, or the terms that follow would limit only the last one. A search for code refuses parentheses. */
export function grouped(query: string): string {
  return /\sOR\s/.test(withoutQuoted(query)) ? `(${query})` : query;
}

/** Empties quoted words, which name no scope. */
function withoutQuoted(query: string): string {
  return query.replace(/"[^"]*"/g, '""');
}
