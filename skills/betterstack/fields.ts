import { lenient, resultSchema, textLike } from "skillflow/internal";
import * as z from "zod";

/** Parameters and response fields that several tools share. */

const ID = /^[1-9]\d{0,18}$/;

export const id = textLike(ID, 19);

export const day = textLike(/^\d{4}-\d{2}-\d{2}$/).optional();

export const limit = z.int().min(1).max(50).optional();
export const page = z.int().min(1).max(100).optional();

/** Throws if an id has anything but digits, because it becomes part of a path. */
export function checkedId(text: string): string {
  if (ID.test(text)) return text;
  throw new Error(`"${text.slice(0, 40)}" is not an id. Ids contain only digits.`);
}

/** Converts a tool's paging parameters to Better Stack's. */
export function paging(input: { readonly limit?: number | undefined; readonly page?: number | undefined }) {
  return { per_page: input.limit ?? 10, page: input.page ?? 1 };
}

/** Returns the schema of a page. Its list is always present, and empty if nothing matches. */
export function pageSchema(list: string, item: string) {
  return resultSchema(list, `${list}:[{ ${item} }] next_page:number`);
}

/** Fields of an unexpected type count as absent, so that one odd field does not fail the whole result. */
export const text = lenient(z.string());
export const number = lenient(z.number());
export const texts = lenient(z.array(z.string()));
export const flag = lenient(z.boolean());

export const idAnswer = z.union([z.string(), z.number()]).transform(String);

export const pagination = lenient(z.object({ next: text }));

export function nextPage(answer: {
  readonly pagination?: { readonly next?: string | null | undefined } | null | undefined;
}) {
  const number = /[?&]page=(\d{1,6})(?:&|$)/.exec(answer.pagination?.next ?? "")?.[1];
  return number === undefined ? undefined : Number(number);
}

/** Returns a URL without the user name and password in it. */
export function withoutLogin(address: string | null | undefined): string | undefined {
  return address?.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, "$1");
}
