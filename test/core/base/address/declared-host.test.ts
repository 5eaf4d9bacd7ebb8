import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  declarationOf,
  isDeclared,
  parseDeclaredHost,
  parseEndpoint,
} from "../../../../src/core/base/address/declared-host.ts";
import { ANY_CHARACTER } from "../../../harness/any-character.ts";

describe("a declared host", () => {
  test.each<[string, object]>([
    ["api.example.com", { host: "api.example.com", isBelow: false, port: undefined }],
    ["API.Example.COM.", { host: "api.example.com", isBelow: false }],
    ["api.example.com:8443", { host: "api.example.com", port: 8443 }],
    ["*.example.com", { host: "example.com", isBelow: true, port: undefined }],
    ["*.example.com:8443", { host: "example.com", isBelow: true, port: 8443 }],
    ["bücher.example", { host: "xn--bcher-kva.example", isBelow: false }],
    ["localhost:8080", { host: "localhost", port: 8080 }],
    ["0x7f.1:80", { host: "127.0.0.1", port: 80 }],
    ["[::1]:8080", { host: "::1", port: 8080 }],
    ["[0:0::1]", { host: "::1", port: undefined }],
  ])("is parsed from %s", (text, expected) => {
    expect(parseDeclaredHost(text)).toMatchObject(expected);
  });

  test.each([
    ...["", "*", "*.", "*.*.example.com", "a.*.com", "*example.com", "https://example.com", "example.com/path", "a b"],
    ...[
      "user@example.com",
      "example.com:",
      "example.com:0",
      "example.com:65536",
      "example.com:http",
      "::1",
      "[::1",
      "[",
      "example.com,",
      "host!",
      "a.example.com,b.example.com",
    ],
    ...["*.127.0.0.1", "*.0.0.1", "*.localhost", "*.[::1]", "a%2eb", "a\tb", "a\nb.example", "...", "1.2.3.256"],
    `${"a.".repeat(127)}com`,
  ])("is not %j", (text) => {
    expect(parseDeclaredHost(text)).toBeUndefined();
  });

  test.each<[string, string, boolean]>([
    ["api.example.com", "api.example.com:443", true],
    ["api.example.com", "API.EXAMPLE.com.:80", true],
    ["api.example.com", "api.example.com:8443", false],
    ["api.example.com", "api.example.com:22", false],
    ["api.example.com", "x.api.example.com:443", false],
    ["api.example.com", "api.example.com.evil.test:443", false],
    ["api.example.com", "evilapi.example.com:443", false],
    ["api.example.com:8443", "api.example.com:8443", true],
    ["api.example.com:8443", "api.example.com:443", false],
    ["*.example.com", "a.b.example.com:443", true],
    ["*.example.com", "example.com:443", false],
    ["*.example.com", "evilexample.com:443", false],
    ["*.example.com:8443", "a.example.com:8443", true],
    ["127.0.0.1:8080", "127.0.0.1:8080", true],
    ["127.0.0.1:8080", "2130706433:8080", true],
    ["127.0.0.1:8080", "0177.0.0.1:8080", true],
    ["127.0.0.1:8080", "localhost:8080", false],
    ["127.0.0.1:8080", "[::ffff:127.0.0.1]:8080", false],
    ["example.com", "example.com", false],
  ])("%s allows %s: %s", (declaration, asked, expected) => {
    const declared = parseDeclaredHost(declaration);
    const endpoint = parseEndpoint(asked);
    expect(declared && endpoint && isDeclared([declared], endpoint)).toBe(expected);
  });

  test("that a refusal suggests allows the refused place", () => {
    const place = fc.tuple(
      fc.oneof(
        fc.domain(),
        fc.ipV4(),
        fc.ipV6().map((text) => `[${text}]`),
      ),
      fc.integer({ min: 1, max: 65_535 }),
    );
    fc.assert(
      fc.property(place, ([host, port]) => {
        const endpoint = parseEndpoint(`${host}:${port}`);
        const declared = endpoint && parseDeclaredHost(declarationOf(endpoint));
        expect(endpoint && declared && isDeclared([declared], endpoint)).toBe(true);
      }),
    );
  });

  test("is parsed from any text without an exception", () => {
    fc.assert(fc.property(fc.string({ unit: ANY_CHARACTER }), (text) => void parseDeclaredHost(text)));
  });
});
