import { lenient, textLike } from "skillflow/internal";
import * as z from "zod";

/** Parameters and response fields that several tools share. */

export const project = textLike(/^[A-Za-z0-9_.][A-Za-z0-9_./-]*$/, 255)
  .optional()
  .describe("group/name, or the id.");

export const ref = textLike(/^[^\s:?*~^\\[\]-][^\s:?*~^\\[\]]*$/, 255);

export const number = z.int().min(1).max(2_147_483_647);

export const limit = z.int().min(1).max(100).optional();

export const page = z.int().min(1).max(100).optional();
export const paged = { limit, page };

export const text = lenient(z.string());

export const amount = lenient(z.number());

export const flag = lenient(z.boolean());

export const person = lenient(z.object({ username: text }));
