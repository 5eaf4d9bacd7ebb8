import { type ImageKind, imageFault, shownIds } from "../core/base/image.ts";
import { imagesIn, type Turn } from "../core/engine/event/prompt.ts";
import type { ModelCall } from "../core/engine/ports.ts";

export interface Sight {
  readonly kind: ImageKind;
  readonly base64: string;
}

/** Images by blob id. Contains only the newest if there are more than a request may hold. */
export type Sights = ReadonlyMap<string, Sight>;

export const NOTHING_SEEN: Sights = new Map();

export const REFUSES_IMAGES = /\bimage|input_image|\bvision\b|multi-?modal|media_type/i;

export async function lookAt(turns: readonly Turn[], { image }: Pick<ModelCall, "image">): Promise<Sights> {
  const images = imagesIn(turns);
  if (!image || images.length === 0) return NOTHING_SEEN;
  const wanted = shownIds(images);
  const sights = new Map<string, Sight>();
  for (const shown of images) {
    const { blob_id, kind } = shown;
    if (!wanted.has(blob_id) || sights.has(blob_id)) continue;
    const bytes = await image(shown);
    if (!bytes || imageFault(bytes, kind) !== undefined) continue;
    sights.set(blob_id, { kind, base64: Buffer.from(bytes).toString("base64") });
  }
  return sights;
}

export function seenOf(images: readonly { readonly blob_id: string }[] | undefined, sights: Sights): readonly Sight[] {
  return (images ?? []).flatMap(({ blob_id }) => sights.get(blob_id) ?? []);
}
