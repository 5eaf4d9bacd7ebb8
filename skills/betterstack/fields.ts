import { resultSchema, type Shape } from "skillflow";
import * as z from "zod";

/** The parameters that several tools share, and the parts of answers that several have. */

const ID = /^[1-9]\d{0,18}$/;

const id = z.string().max(19).regex(ID);

export const incidentId = id;

export const monitorId = id;

export const limit = z.int().min(1).max(50).optional();

export const page = z.int().min(1).max(100).optional();

/** The id is part of a path. */
export function checkedId(text: string): string {
  if (ID.test(text)) return text;
  throw new Error(`"${text.slice(0, 40)}" is not an id: it is written in digits only.`);
}

/** Better Stack's paging parameters for a tool's. */
export function paging(input: { readonly limit?: number | undefined; readonly page?: number | undefined }) {
  return { per_page: input.limit ?? 10, page: input.page ?? 1 };
}

/** The schema of a page: its list is always there, empty where nothing fits. */
export function pageSchema(list: string, item: Shape) {
  return resultSchema({ [list]: [item], next_page: "number" }, list);
}

/** A part of another type than published counts as absent: one odd field does not spoil a result. */
export const text = z.string().nullish().catch(undefined);

export const number = z.number().nullish().catch(undefined);

export const texts = z.array(z.string()).nullish().catch(undefined);

export const flag = z.boolean().nullish().catch(undefined);

export const idAnswer = z.union([z.string(), z.number()]).transform(String);

export const pagination = z.object({ next: text }).nullish().catch(undefined);

export function nextPage(answer: {
  readonly pagination?: { readonly next?: string | null | undefined } | null | undefined;
}) {
  const number = /[?&]page=(\d{1,6})(?:&|$)/.exec(answer.pagination?.next ?? "")?.[1];
  return number === undefined ? undefined : Number(number);
}

/** An address without the password that someone put into it. */
export function withoutLogin(address: string | null | undefined): string | undefined {
  return address?.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, "$1");
}
