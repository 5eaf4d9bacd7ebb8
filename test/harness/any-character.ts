import fc from "fast-check";

/** Any code point but halves of a pair: `unit: "binary"`, without the second that its table of them all takes to make. */
export const ANY_CHARACTER = fc
  .oneof(fc.nat(0xd7ff), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((code) => String.fromCodePoint(code));
