import fc from "fast-check";

/** Any code point except lone surrogates: `unit: "binary"`, without the second that its full table takes to build. */
export const ANY_CHARACTER = fc
  .oneof(fc.nat(0xd7ff), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((code) => String.fromCodePoint(code));
