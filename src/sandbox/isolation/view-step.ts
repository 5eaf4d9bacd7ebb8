import type { Mount } from "../../core/skill/sandbox.ts";

/** Step in building the files that a program sees, starting with an empty root. */
export type ViewStep =
  | { readonly kind: "show"; readonly mount: Mount }
  | { readonly kind: "link"; readonly path: string; readonly to: string }
  | { readonly kind: "folder"; readonly path: string }
  /** Writable memory file system. */
  | { readonly kind: "scratch"; readonly path: string; readonly bytes: number };
