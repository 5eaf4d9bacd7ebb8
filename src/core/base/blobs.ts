/** Metadata of a blob. Its content is read by id. */
export interface BlobInfo {
  /** `blob:` and 32 hexadecimal digits, derived from kind and content. */
  readonly blob_id: string;
  /** A MIME type. */
  readonly kind: string;
  readonly size_bytes: number;
}

/**
 * Storage for data that is too large to pass by value.
 *
 * - Content-addressed: the same content and kind give the same id, and an id never changes its content.
 * - `create` resolves when the blob is durable, if the store is. It throws `blob.refused` if the blob, or all blobs
 *   together, would exceed a size limit.
 * - For an unknown or malformed id, `info` returns undefined and the other methods throw `blob.unknown`.
 */
export interface Blobs {
  create(content: Uint8Array, kind: string): Promise<BlobInfo>;
  info(id: string): Promise<BlobInfo | undefined>;
  /** Returns `length` bytes from `offset`, or fewer at the end. */
  read(id: string, offset: number, length: number): Promise<Uint8Array>;
  /** Returns the path of a local file with the content. Callers must not write to it. */
  file(id: string): Promise<string>;
}
