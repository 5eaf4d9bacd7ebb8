import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** Packs files as a `.tar.gz`. The same files always give the same bytes. */
export async function packArchive(files: ReadonlyMap<string, Buffer>): Promise<Buffer> {
  const parts = [...files].flatMap(([path, content]) => [...longName(path), ...member(path, content, "0")]);
  return promisify(gzip)(Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]));
}

const BLOCK = 512;
const LONGEST_NAME = 100;

/** Returns a member with the whole path (pax) if the field for names does not hold it. */
function longName(path: string): Buffer[] {
  if (Buffer.byteLength(path) <= LONGEST_NAME && /^[\x20-\x7e]*$/.test(path)) return [];
  const record = ` path=${path}\n`;
  const size = Buffer.byteLength(record);
  // The length counts its own digits.
  const length = size + String(size + String(size).length).length;
  return member("././@PaxHeader", Buffer.from(`${length}${record}`), "x");
}

/** Returns a header in the format ustar, and the content filled up to whole blocks. */
function member(path: string, content: Buffer, type: "0" | "x"): Buffer[] {
  const header = Buffer.alloc(BLOCK);
  header.write(path, 0, LONGEST_NAME);
  header.write("0000644\0", 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write("        ", 148);
  header.write(type, 156);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return [header, content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)];
}
