import type { Mount } from "../../core/skill/sandbox.ts";

/** One step in making the files that a program sees, beginning with an empty root. */
export type ViewStep =
  | { readonly kind: "show"; readonly mount: Mount }
  | { readonly kind: "link"; readonly path: string; readonly to: string }
  | { readonly kind: "folder"; readonly path: string }
  /** Memory that the program may write to. */
  | { readonly kind: "scratch"; readonly path: string; readonly bytes: number };
