/** Computes the SHA-256 digest of UTF-8 text as hex (FIPS 180-4), synchronously and without platform APIs. */
export function sha256(text: string): string {
  const words = padded(text);
  const hash = Int32Array.from(ROOTS);
  const schedule = new Int32Array(64);
  for (let block = 0; block < words.length; block += 16) {
    schedule.set(words.subarray(block, block + 16));
    for (let t = 16; t < 64; t++)
      schedule[t] =
        small(at(schedule, t - 2), 17, 19, 10) +
        at(schedule, t - 7) +
        small(at(schedule, t - 15), 7, 18, 3) +
        at(schedule, t - 16);
    const after = rounds(hash, schedule);
    for (const [index, word] of after.entries()) hash[index] = at(hash, index) + word;
  }
  return [...hash].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

/** Returns the padded message: the text, a one bit, and the length. */
function padded(text: string): Int32Array {
  const bytes = new TextEncoder().encode(text);
  const { length } = bytes;
  const words = new Int32Array((((length + 8) >> 6) + 1) * 16);
  for (let index = 0; index <= length; index++) {
    const byte = bytes[index] ?? 0x80;
    words[index >> 2] = at(words, index >> 2) | (byte << (24 - (index % 4) * 8));
  }
  words[words.length - 2] = length / 2 ** 29;
  words[words.length - 1] = length * 8;
  return words;
}

function rounds(hash: Int32Array, schedule: Int32Array): readonly number[] {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = hash;
  for (let t = 0; t < 64; t++) {
    const first = (h + large(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + at(CUBES, t) + at(schedule, t)) | 0;
    const second = (large(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  return [a, b, c, d, e, f, g, h];
}

const large = (word: number, a: number, b: number, c: number) => turned(word, a) ^ turned(word, b) ^ turned(word, c);
const small = (word: number, a: number, b: number, c: number) => turned(word, a) ^ turned(word, b) ^ (word >>> c);
const turned = (word: number, by: number) => (word >>> by) | (word << (32 - by));
const at = (words: Int32Array, index: number) => words[index] ?? 0;

const PRIMES = Array.from({ length: 310 }, (_, index) => index + 2).filter(isPrime);
const ROOTS = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const CUBES = Int32Array.from(PRIMES.slice(0, 64), (prime) => fraction(Math.cbrt(prime)));

function isPrime(value: number): boolean {
  for (let by = 2; by * by <= value; by++) if (value % by === 0) return false;
  return true;
}

/** Returns the first 32 bits of the fractional part. */
function fraction(root: number): number {
  return ((root % 1) * 2 ** 32) | 0;
}
