import fc from "fast-check";
import { ANY_CHARACTER } from "../harness/any-character.ts";
import { HOSTILE } from "./triage-run.ts";

const PIECES = [
  ...HOSTILE,
  ..."`|\\*_~[]()<>!#@$&:%\"'+-=^{}\n\r\t ".split(""),
  "```",
  "![",
  "](",
  "</",
  "<a href=x>",
  "&lt;",
  "https:",
  "//evil.example",
  "www.",
  ".com",
  "javascript:",
  "mailto:",
  "@octocat",
  "#12",
  "GH-3",
  "::add-path::/tmp",
  "##[add-path]/tmp",
  "\u001b",
  "\u001b[",
  "\u009b2J",
  "\u200b",
  "\u202e",
  "\ud83d",
  "1.",
  "---",
];

/** Attacks, their fragments in every order, and anything at all. */
export const hostileText: fc.Arbitrary<string> = fc
  .array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: ANY_CHARACTER, maxLength: 8 })), { maxLength: 14 })
  .map((pieces) => pieces.join(""));
