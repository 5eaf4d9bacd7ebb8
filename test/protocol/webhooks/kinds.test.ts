import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type Headers, isBearer, isRecent, KINDS, type Sent } from "../../../src/protocol/webhooks/kinds.ts";

const headersOf = (headers: Readonly<Record<string, string>>): Headers => ({ get: (name) => headers[name] });
const hmac = (secret: string, ...parts: readonly (string | Buffer)[]) => {
  const mac = createHmac("sha256", secret);
  for (const part of parts) mac.update(part);
  return mac.digest("hex");
};
const isGenuine = (kind: keyof typeof KINDS, sent: Sent, secret: string) => {
  const { proof } = KINDS[kind];
  return proof.by === "signature" && proof.isGenuine(sent, secret);
};

const BODY = Buffer.from('{"é": 1,  "a":\r\n2}');
const SECRET = "It's a Secret to Everybody";
const NOW = Date.parse("2026-01-01T00:00:00Z");
const SECONDS = String(NOW / 1000);

describe("a signature", () => {
  it("is GitHub's, as in the example of their documentation", () => {
    const body = Buffer.from("Hello, World!");
    const given = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    expect(isGenuine("github", { headers: headersOf({ "x-hub-signature-256": given }), body }, SECRET)).toBe(true);
  });

  const good = {
    sentry: { "sentry-hook-signature": hmac(SECRET, BODY) },
    pagerduty: { "x-pagerduty-signature": `v1=${hmac(SECRET, BODY)}` },
    github: { "x-hub-signature-256": `sha256=${hmac(SECRET, BODY)}` },
    generic: {
      "x-skillflow-timestamp": SECONDS,
      "x-skillflow-signature": `sha256=${hmac(SECRET, `${SECONDS}.`, BODY)}`,
    },
  } as const;
  const rows = Object.entries(good).map(([kind, headers]) => [kind as keyof typeof good, headers] as const);

  it.each(rows)("of %s covers the bytes of the body", (kind, headers) => {
    expect(isGenuine(kind, { headers: headersOf(headers), body: BODY }, SECRET)).toBe(true);
  });

  it.each(rows)("of %s is refused for another body, with another secret, truncated, or missing", (kind, headers) => {
    const at = (given: Readonly<Record<string, string>>, body = BODY, secret = SECRET) =>
      isGenuine(kind, { headers: headersOf(given), body }, secret);
    const [name = ""] = Object.keys(headers).filter((key) => key.includes("signature"));
    const value = Object.entries(headers).find(([key]) => key === name)?.[1] ?? "";
    const forged = (signature: string) => ({ ...headers, [name]: signature });
    expect([
      at(headers, Buffer.from(JSON.stringify(JSON.parse(BODY.toString())))),
      at(headers, Buffer.concat([BODY, Buffer.from(" ")])),
      at(headers, BODY, "another"),
      at(forged(value.slice(0, -1))),
      at(forged(`${value}0`)),
      at(forged("")),
      at(forged(value.replace(/[0-9a-f]{64}/, "0".repeat(64)))),
      at(forged(`sha1=${value.slice(-64)}`)),
      at({}),
    ]).toEqual(Array(9).fill(false));
  });

  it("of PagerDuty may be one of several, while a secret is replaced", () => {
    const sent = (given: string) => ({ headers: headersOf({ "x-pagerduty-signature": given }), body: BODY });
    const mine = `v1=${hmac(SECRET, BODY)}`;
    const other = `v1=${hmac("old", BODY)}`;
    expect(isGenuine("pagerduty", sent(`${other},${mine}`), SECRET)).toBe(true);
    expect(isGenuine("pagerduty", sent(`${other}, ${mine}`), SECRET)).toBe(true);
    expect(isGenuine("pagerduty", sent(`${other},${mine.replace("v1", "v0")}`), SECRET)).toBe(false);
  });

  it("of the generic kind covers the time", () => {
    const headers = { ...good.generic, "x-skillflow-timestamp": String(NOW / 1000 + 1) };
    expect(isGenuine("generic", { headers: headersOf(headers), body: BODY }, SECRET)).toBe(false);
  });
});

describe("a token", () => {
  it.each<[string | undefined, boolean]>([
    ["Bearer abc", true],
    ["bearer abc", true],
    ["Bearer abcd", false],
    ["Bearer ab", false],
    ["Basic abc", false],
    ["abc", false],
    [undefined, false],
  ])("%s", (authorization, wanted) => {
    expect(isBearer(headersOf(authorization === undefined ? {} : { authorization }), "abc")).toBe(wanted);
  });
});

describe("the time of a webhook", () => {
  it.each<[string | undefined, boolean]>([
    [SECONDS, true],
    [String(NOW), false],
    [`${SECONDS}.5`, false],
    [String(NOW / 1000 - 299), true],
    [String(NOW / 1000 - 301), false],
    [String(NOW / 1000 + 301), false],
    ["", false],
    [undefined, false],
    ["now", false],
    ["-1", false],
    ["1e9", false],
  ])("%s", (said, wanted) => {
    const headers = headersOf(said === undefined ? {} : { "x-skillflow-timestamp": said });
    expect(isRecent(KINDS.generic, headers, NOW)).toBe(wanted);
  });

  it.each([SECONDS, String(NOW), `${SECONDS}.5`])("of Sentry may be %s", (said) => {
    expect(isRecent(KINDS.sentry, headersOf({ "sentry-hook-timestamp": said }), NOW)).toBe(true);
  });

  it("is not checked if the vendor sends none", () => {
    expect(isRecent(KINDS.github, headersOf({}), NOW)).toBe(true);
  });
});

describe("the name of a delivery", () => {
  it.each<[keyof typeof KINDS, Readonly<Record<string, string>>, unknown, string | undefined]>([
    ["generic", { "x-skillflow-delivery": "d" }, {}, "d"],
    ["sentry", { "request-id": "r" }, {}, "r"],
    ["github", { "x-github-delivery": "g" }, {}, "g"],
    ["pagerduty", {}, { event: { id: "01" } }, "01"],
    ["pagerduty", { "x-webhook-id": "w" }, { event: {} }, undefined],
    ["grafana", {}, {}, undefined],
  ])("%s", (kind, headers, body, wanted) => {
    expect(KINDS[kind].delivery?.(headersOf(headers), body as never)).toBe(wanted);
  });
});
