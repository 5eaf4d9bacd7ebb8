import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRedactor } from "../../../../src/core/base/redact/redact.ts";
import { admitOperation } from "../../../../src/core/engine/decide/admit.ts";
import { forPublic } from "../../../../src/core/engine/plan/public-text.ts";

/** Removals from a text that will be public. */

const cleaned = (text: string) => forPublic(text, { host: "github.com" }).input;

describe("a public text loses", () => {
  test.each<[string, string, string]>([
    ["an e-mail address", "ask Ana.B+ops@mail.example.com now", "ask [removed:email] now"],
    ["an IPv4 address", "from 10.2.3.4:5432, 203.0.113.7.", "from ip-1:5432, ip-2."],
    ["addresses of both versions", "10.1.2.3, 2001:db8::17, 10.0.0.9, 10.1.2.3", "ip-1, ip-2, ip-3, ip-1"],
    ["an IPv6 address", "at fe80::1ff:fe23:4567:890a and ::1234:5678", "at ip-1 and ip-2"],
    ["an IPv4 address in an IPv6 one", "at ::ffff:10.0.0.1.", "at ip-1."],
    ["a vendor's token", "with ghp_abcdefgh12345678 and xoxb-12345-abcdef", "with [removed:token] and [removed:token]"],
    ["a key of 32 hex digits", "key 0123456789abcdef0123456789abcdef", "key [removed:token]"],
    ["a long random word", "is wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzz3 ok", "is [removed:token] ok"],
    ["an internal host", "on db-7.prod.internal and pg.svc.cluster.local", "on host-1 and host-2"],
    ["a host with a port", "at metrics:9090 and prom.acme:9090", "at metrics:9090 and host-1:9090"],
    [
      "a host whose name ends like a file",
      "at db.acme.sh:5432 and https://pool.ts/x",
      "at host-1:5432 and https://host-2/x",
    ],
    ["a host in an address", "see https://grafana.acme.io/d/1?a=b", "see https://host-1/d/1?a=b"],
    ["a host in the open that is not the sink's own", "status at status.acme.com", "status at host-1"],
    ["a host that only looks like the sink's", "https://github.com.evil.io/x", "https://host-1/x"],
  ])("%s", (_, text, told) => expect(cleaned(text)).toBe(told));
});

describe("a public text keeps", () => {
  test.each([
    ["links to the sink", "https://github.com/acme/orders/issues/7 and api.github.com"],
    ["names of files and of code", "src/pool.ts, orders.service.py, config.yml and error.rate in node.exit()"],
    ["places in files", "at Pool.take (src/pool.ts:58:11), app.py:1024, a/b.test.ts:10 and Order.java:2048"],
    ["a version of four parts", "since v1.2.3.4"],
    ["a commit's id", "since 8f2c1e0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e"],
    ["a UUID", "trace 7d793037-a076-4cfe-9f1d-6c2b3e1f0a99"],
    ["versions and times", "v1.2.3 at 12:30:05 on 2026-01-02T10:00:00Z took 1.5.2"],
    ["references to other operations", "see ${op-1.team}, ${op-12.result.info} and ${op-1.url}"],
    ["a path of words", "services/orders/internal/database/connection/pool"],
    ["a long word of one case", "internationalizationandlocalization"],
    ["mentions and e.g. and i.e.", "e.g. the pool, i.e. it, by @ana"],
  ])("%s", (_, text) => expect(cleaned(text)).toBe(text));
});

test("every text of a value is cleaned, and removals are counted", () => {
  const input = { to: ["a@b.io", { body: "10.0.0.1 and 10.0.0.2 of a@b.io" }], "a@b.io": 1 };
  expect(forPublic(input)).toEqual({
    input: { to: ["[removed:email]", { body: "ip-1 and ip-2 of [removed:email]" }], "[removed:email]": 1 },
    filtered: [
      { kind: "email", count: 3 },
      { kind: "ip", count: 2 },
    ],
    aliases: { "ip-1": "10.0.0.1", "ip-2": "10.0.0.2" },
  });
});

test("keys that become equal keep their values under distinct names", () => {
  const input = { "a@b.io": 1, "c@d.io": 2, "[removed:email] (2)": 3, "DB.internal": 4, "db.internal": 5, plain: 6 };
  expect(forPublic({ input }).input).toEqual({
    input: {
      "[removed:email]": 1,
      "[removed:email] (3)": 2,
      "[removed:email] (2)": 3,
      "host-1": 4,
      "host-1 (2)": 5,
      plain: 6,
    },
  });
});

test("aliases are counted by kind, and are the same in later texts", () => {
  const known = new Map([
    ["db.internal", "host-1"],
    ["10.0.0.1", "ip-1"],
  ]);
  expect(forPublic("DB.internal and 10.0.0.1, cache.internal, 10.0.0.2 and cache.internal", { known })).toEqual({
    input: "host-1 and ip-1, host-2, ip-2 and host-2",
    filtered: [
      { kind: "ip", count: 2 },
      { kind: "host", count: 3 },
    ],
    aliases: { "host-2": "cache.internal", "ip-2": "10.0.0.2" },
  });
});

test("cleaned text is not cleaned again, and no text takes long", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("a", "1", ".", ":", "-", "@", "/", " ", "_"), maxLength: 300 }),
      (text) => {
        const once = forPublic(text).input;
        expect(forPublic(once).input).toBe(once);
      },
    ),
  );
});

describe("a public text that refers to a result", () => {
  const output = {
    url: "https://jira.acme.internal/browse/OPS-1",
    key: "OPS-1",
    text: "db-3.acme.internal (10.0.0.5), ask kim@acme.test",
  };
  const before = { operation: { id: "op-1" }, application: { standing: "applied", output } };
  const input = { body: "${op-1.key} (${op-1.url}): ${op-1.text}" };
  const operation = { id: "op-2", skill: "github", tool: "create_issue", input, refers: ["op-1"] };
  const tool = { skill: "github", name: "create_issue", effect: "write", input_schema: { type: "object" } };
  const sent = (held?: string) => {
    const planned = [before, { operation: { ...operation, held }, application: { standing: "planned" } }];
    const admitted = admitOperation(planned[1] as never, { planned, tool, redactor: createRedactor([]) } as never);
    return admitted.kind === "run" ? (admitted.input as typeof input).body : admitted.kind;
  };

  test("sends of it what a public text may have, and an address on its own", () => {
    expect(sent("taint.private_to_public")).toBe(
      `OPS-1 (${output.url}): [removed:host] ([removed:ip]), ask [removed:email]`,
    );
  });

  test("sends all of it if private text may be public", () => {
    expect(sent()).toBe(`OPS-1 (${output.url}): ${output.text}`);
  });
});
