/** The smallest images of each kind, and data that is not an image. */

export const PICTURES = {
  "image/png": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "image/gif": "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7",
  "image/webp": "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==",
  "image/jpeg": Buffer.from(
    "ffd8ffe000104a46494600010100000100010000ffc0000b080001000101011100ffda0008010100003f00d2cf20ffd9",
    "hex",
  ).toString("base64"),
} as const;

export function pictureBytes(kind: keyof typeof PICTURES): Buffer {
  return Buffer.from(PICTURES[kind], "base64");
}

/** A PNG that claims to have this many pixels on each side. */
export function vastPicture(side: number): Buffer {
  const bytes = pictureBytes("image/png");
  bytes.writeUInt32BE(side, 16);
  bytes.writeUInt32BE(side, 20);
  return bytes;
}
