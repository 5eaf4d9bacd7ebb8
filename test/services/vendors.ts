import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Vendor } from "./vendor.ts";

const SKILLS = join(import.meta.dirname, "..", "..", "skills");

/** Ids of all built-in skills. */
export const SKILL_IDS: readonly string[] = readdirSync(SKILLS).sort();

/** The loopback services of the built-in skills: each `vendor` of `test/services/<id>.ts`. */
export const VENDORS: ReadonlyMap<string, Vendor> = new Map(
  (
    await Promise.all(
      SKILL_IDS.filter((id) => existsSync(join(import.meta.dirname, `${id}.ts`))).map(async (id) => {
        const { vendor } = (await import(/* @vite-ignore */ `./${id}.ts`)) as { readonly vendor?: Vendor };
        return vendor ? [[id, vendor] as const] : [];
      }),
    )
  ).flat(),
);

/** Services that can answer in this checkout. */
export const ANSWERING: ReadonlyMap<string, Vendor> = new Map(
  [...VENDORS].filter(([, { isPublished }]) => isPublished !== false),
);

/** Skills without a loopback service: they read files, or a test starts what they need. */
export const WITHOUT_VENDOR: readonly string[] = SKILL_IDS.filter((id) => !VENDORS.has(id));
