import * as z from "zod";
import { withoutEnd } from "../../base/preview.ts";
import { checkedAs, type Fitting } from "../../base/values.ts";
import { lazyObject, optional } from "../../skill/field.ts";

/** Proposed changes of files: what the working copy changed, and the operation that proposes it. */

export const hex = () => z.string().regex(/^[0-9a-f]{64}$/);

/** Private content by kind, as the filter of public text counts it. */
export const filteredSchema = () =>
  z.array(z.object({ kind: z.enum(["email", "ip", "token", "host"]), count: z.int() }));

const fileChangeSchema = lazyObject(() => ({
  path: z.string().min(1),
  change: z.enum(["added", "changed", "deleted"]),
  mode: z.enum(["100644", "100755"]),
  sha256: hex().describe("Of the new content, or of the deleted content"),
}));

/** A change as the working copy reports it. */
export const changeSchema = lazyObject(() => ({
  base: z
    .string()
    .regex(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/)
    .describe("Commit that the change starts from"),
  diff: z.string().describe("Unified diff from the base"),
  files: z.array(fileChangeSchema()),
}));
export type Change = Fitting<typeof changeSchema>;

const proofSchema = lazyObject(() => ({
  command: z.string(),
  files: optional(z.array(z.string()), "Files that the command was given"),
  before: z.int().describe("Exit code at the base"),
  after: z.int().describe("Exit code with the change"),
  references: z.array(z.string()).describe("The results that show it, such as r4"),
}));
export type Proof = Fitting<typeof proofSchema>;

/** The fields that an operation of kind `patch` has besides those of a call. */
export const patchFields = lazyObject(() => ({
  ...changeSchema().shape,
  title: z.string(),
  body: z.string(),
  draft: z.boolean(),
  labels: z.array(z.string()),
  proof: optional(proofSchema(), "Test that failed at the base and passes with the change"),
  branch: z.string().describe("Branch that apply creates"),
  in_diff: optional(filteredSchema(), "Such content in the added lines of the diff, which is published as it is"),
}));
export type Patch = Fitting<typeof patchFields>;

/** Returns the patch of an operation. Undefined for a planned call. */
export function patchOf(operation: { readonly kind?: string | undefined }): Patch | undefined {
  return operation.kind === "patch" ? checkedAs<Patch>(operation) : undefined;
}

/** Returns the branch for a change: its title as a slug, and the start of its digest. */
export function branchOf(title: string, digest: string): string {
  const words = title
    .normalize("NFKD")
    .replace(/[\p{Cf}\p{M}]/gu, "")
    .toLowerCase()
    .match(/[a-z0-9]+/g);
  const slug = withoutEnd((words ?? []).join("-").slice(0, 40), "-");
  return `skillflow/${slug === "" ? "change" : slug}-${digest.slice(0, 12)}`;
}
