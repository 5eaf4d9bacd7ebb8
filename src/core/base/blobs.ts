/** A blob as it is spoken of; the content is fetched by its id. */
export interface BlobInfo {
  /** `blob:` and 32 hexadecimal digits, made from kind and content. */
  readonly blob_id: string;
  /** A MIME type. */
  readonly kind: string;
  readonly size_bytes: number;
}

/**
 * Data too large to be passed around, held by handle.
 *
 * - Content-addressed: the same content of the same kind is the same blob, and an id never changes what it stands for.
 * - `create` resolves once the blob would survive a crash (where the store survives one); throws `blob.refused` when it
 *   is larger than allowed, or when all of them together would be.
 * - An unknown or malformed id is undefined for `info` and throws `blob.unknown` for the others.
 */
export interface Blobs {
  create(content: Uint8Array, kind: string): Promise<BlobInfo>;
  info(id: string): Promise<BlobInfo | undefined>;
  /** `length` bytes from `offset`, fewer at the end. */
  read(id: string, offset: number, length: number): Promise<Uint8Array>;
  /** A file of this machine with the content, not to be written to. */
  file(id: string): Promise<string>;
}
