import { describe, expect, it } from "vitest";
import { shortened } from "../../skills/logs/line/text.ts";
import { mailAdvice } from "../../skills/notification/channels/email.ts";
import { explainCode } from "../../skills/slack/failure.ts";
import { Refusal } from "../../skills/supabase/failure.ts";
import { createRedactor } from "../../src/core/base/redact/redact.ts";

const SECRET = "Canary0123456789abcdefghijKLMNOP";

/** Skills cut the answers of vendors before secrets are removed from them. */
const CUTS: readonly (readonly [string, (words: string) => string])[] = [
  ["a mail server's reply", (words) => mailAdvice(Object.assign(new Error("no"), { response: words }))],
  ["a mail server's error", (words) => mailAdvice(new Error(words))],
  ["Slack's code", (words) => explainCode(words, { status: 400 }).message],
  [
    "Slack's messages",
    (words) => explainCode("invalid_blocks", { status: 200, response_metadata: { messages: [words] } }).message,
  ],
  ["a database's refusal", (words) => new Refusal(400, { message: words, details: words, hint: words }, "GET").message],
  ["a field of a log", (words) => shortened(words, 400)],
];

describe("an answer that a skill cuts", () => {
  it.each(CUTS)("of %s contains no part of a secret", (_, cut) => {
    const redactor = createRedactor([{ name: "S", value: SECRET }]);
    for (let place = 150; place < 650; place += 5) {
      const told = redactor.text(cut(`${"x ".repeat(place / 2)}${SECRET} ${"y".repeat(700)}`));
      expect(told).not.toContain(SECRET.slice(0, 8));
    }
  });
});
