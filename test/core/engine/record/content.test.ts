import { expect, it } from "vitest";
import { createRedactor } from "../../../../src/core/base/redact/redact.ts";
import type { EventBody } from "../../../../src/core/engine/event/event.ts";
import { redactDecision, redactOutcome } from "../../../../src/core/engine/record/content.ts";

const SECRET = "s3cr3t-7919-Zq104729";
const redactor = createRedactor([{ name: "TOKEN", value: SECRET }]);

const replyOf = (text: string): EventBody => {
  const call = { type: "call", id: "1", tool: "t", input: { q: text } } as const;
  const parts = [{ type: "text" as const, text }, call];
  return { type: "model:reply", node: "a", purpose: "work", model: "m", parts, stop: "end", usage: null, prompt: "" };
};
const resultOf = (output: string): EventBody => ({
  type: "tool:result",
  node: "a",
  tool: "t",
  output: [output],
  id: "1",
});
const failureOf = (error: string): EventBody => ({ type: "tool:result", node: "a", tool: "t", error, id: "1" });
const exitOf = (text: string): EventBody => {
  return { type: "node:exit", node: "a", result: { status: "success", data: { text }, toolCalls: [] } };
};

it.each([
  ["a reply", redactOutcome, replyOf],
  ["a result", redactOutcome, resultOf],
  ["a failed call", redactOutcome, failureOf],
  ["the end of a visit", redactDecision, exitOf],
])("%s is copied only if it has a secret", (_, redact, bodyOf) => {
  const clean = bodyOf("nothing to hide");
  expect(redact(clean, redactor)).toBe(clean);
  const dirty = bodyOf(`the key is ${SECRET}`);
  expect(redact(dirty, redactor)).toEqual(bodyOf("the key is [redacted:TOKEN]"));
  expect(dirty).toEqual(bodyOf(`the key is ${SECRET}`));
});

it("a name that no offered tool has is redacted, and an offered one stays", () => {
  const part = { type: "call" as const, id: "1", tool: `x${SECRET}`, input: {} };
  const reply = { ...replyOf(""), parts: [part] } as EventBody;
  expect(redactOutcome(reply, redactor, ["logs"])).toMatchObject({ parts: [{ tool: "x[redacted:TOKEN]" }] });
  expect(redactOutcome(reply, redactor, [part.tool])).toBe(reply);
});
