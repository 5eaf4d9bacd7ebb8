import * as z from "zod";

/** Parameters and response fields that several tools share. */

export const project = z
  .string()
  .max(255)
  .regex(/^[A-Za-z0-9_.][A-Za-z0-9_./-]*$/)
  .optional()
  .describe("group/name or id; else the configured one.");

export const ref = z
  .string()
  .max(255)
  .regex(/^[^\s:?*~^\\[\]-][^\s:?*~^\\[\]]*$/);

export const number = z.int().min(1).max(2_147_483_647);

export const limit = z.int().min(1).max(100).optional();

export const page = z.int().min(1).max(100).optional();

export const timestamp = z
  .string()
  .max(40)
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/);

export const text = z.string().nullish().catch(undefined);

export const amount = z.number().nullish().catch(undefined);

export const flag = z.boolean().nullish().catch(undefined);

export const person = z.object({ username: text }).nullish().catch(undefined);
