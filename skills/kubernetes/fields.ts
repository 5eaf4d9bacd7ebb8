import * as z from "zod";

/** Parameters and response fields that several tools share. */

export const name = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/);

export const namespace = z
  .string()
  .max(63)
  .regex(/^(\*|[a-z0-9]([a-z0-9-]*[a-z0-9])?)$/)
  .optional()
  .describe("* for all; default the configured one.");

export const selector = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[A-Za-z0-9_./=!,() -]+$/)
  .optional()
  .describe("Labels: app=checkout,tier!=cache.");

export const text = z.string().nullish().catch(undefined);

export const number = z.number().nullish().catch(undefined);
