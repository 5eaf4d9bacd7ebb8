import { createHash } from "node:crypto";
import type { ToolContext } from "skillflow";
import { callDigest } from "skillflow/internal";
import { isLinearFailure } from "./failure.ts";

/**
 * Returns the id for what this call creates, so that a repeated call finds its own work. The input separates calls with
 * the same id. Linear accepts UUID v4 only.
 */
export function identityOf(context: ToolContext, input: unknown): string {
  const bytes = createHash("sha256")
    .update(`skillflow ${callDigest(context, input)}`)
    .digest()
    .subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Throws unless Linear saved what a mutation wrote. */
export function requireSaved(success: boolean, what: string): void {
  if (!success) throw new Error(`Linear reports that it did not save the ${what}. Check before you repeat the call.`);
}

/** Creates what `find` does not find. If another attempt creates it first, returns that one's result. */
export async function createOnce<Found extends object>(
  find: () => Promise<Found | undefined>,
  create: () => Promise<Found>,
): Promise<Found | (Found & { readonly existing: true })> {
  const earlier = await find();
  if (earlier) return { ...earlier, existing: true };
  try {
    return await create();
  } catch (error) {
    const isRefused = isLinearFailure(error) && ["InvalidInput", "UserError", "Other"].includes(error.type ?? "");
    const rival = isRefused ? await find() : undefined;
    if (rival) return { ...rival, existing: true };
    throw error;
  }
}
