/** Reads a body as UTF-8. Stops and returns undefined if it has more than `most` bytes. */
export async function readCapped(body: AsyncIterable<Uint8Array> | null, most: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > most) return undefined;
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}
