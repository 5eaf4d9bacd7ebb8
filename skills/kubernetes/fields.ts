import { lenient, textLike } from "skillflow/internal";
import * as z from "zod";

/** Parameters and response fields that several tools share. */

export const name = textLike(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, 253);

export const namespace = textLike(/^(\*|[a-z0-9]([a-z0-9-]*[a-z0-9])?)$/, 63)
  .optional()
  .describe("* for all.");

export const selector = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[A-Za-z0-9_./=!,() -]+$/)
  .optional()
  .describe("Labels: app=checkout,tier!=cache.");

export const text = lenient(z.string());

export const number = lenient(z.number());
