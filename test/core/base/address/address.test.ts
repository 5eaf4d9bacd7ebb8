import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isLocalName, isRefusedAddress } from "../../../../src/core/base/address/address.ts";

const REFUSED = [
  ["0.0.0.0", "0.255.255.255"],
  ["10.0.0.0", "10.255.255.255"],
  ["100.64.0.0", "100.127.255.255"],
  ["127.0.0.0", "127.255.255.255"],
  ["168.63.129.16", "168.63.129.16"],
  ["169.254.0.0", "169.254.255.255"],
  ["172.16.0.0", "172.31.255.255"],
  ["192.0.0.0", "192.0.0.255"],
  ["192.168.0.0", "192.168.255.255"],
  ["198.18.0.0", "198.19.255.255"],
  ["224.0.0.0", "255.255.255.255"],
] as const;

describe("refused IPv4 ranges", () => {
  test.each(REFUSED)("%s to %s are refused, their neighbours are not", (first, last) => {
    expect(isRefusedAddress(first)).toBe(true);
    expect(isRefusedAddress(last)).toBe(true);
    for (const neighbour of [numberOf(first) - 1, numberOf(last) + 1]) {
      if (neighbour > 0 && neighbour < 2 ** 32) expect(isRefusedAddress(dotted(neighbour))).toBe(false);
    }
  });

  test("an address is classified the same in every spelling", () => {
    const byte = fc.integer({ min: 0, max: 255 });
    const spelling = fc.constantFrom(String, octal, hexadecimal);
    fc.assert(
      fc.property(byte, byte, byte, byte, spelling, (a, b, c, d, spell) => {
        const refused = isRefusedAddress([a, b, c, d].join("."));
        const spellings = [
          [a, b, c, d].map(spell).join("."),
          [a, b, c * 256 + d].map(spell).join("."),
          [a, b * 65536 + c * 256 + d].map(spell).join("."),
          spell(numberOf([a, b, c, d].join("."))),
          `${a}.${b}.${c}.${d}.`,
          `64:ff9b::${a}.${b}.${c}.${d}`,
          `64:ff9b::${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`,
        ];
        expect(spellings.map(isRefusedAddress)).toEqual(spellings.map(() => refused));
      }),
    );
  });

  test("an IPv4 address that IPv6 embeds in another position is refused, whatever it is", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const hex = numberOf(address).toString(16).padStart(8, "0");
        const [high, low] = [hex.slice(0, 4), hex.slice(4)];
        const carriers = [
          `::${address}`,
          `::ffff:${address}`,
          `::FFFF:${high}:${low}`,
          `[::ffff:${address}]`,
          `::ffff:0:${address}`,
          `0:0:0:0:0:ffff:${address}`,
          `2002:${high}:${low}::1`,
          `2001:0:${high}:${low}::`,
          `64:ff9b:1::${address}`,
        ];
        expect(carriers.filter((carrier) => !isRefusedAddress(carrier))).toEqual([]);
      }),
    );
  });
});

test.each([
  ["::", true],
  ["::1", true],
  ["0:0:0:0:0:0:0:1", true],
  ["0000:0000:0000:0000:0000:0000:0000:0001", true],
  ["fe80::1", true],
  ["febf::1", true],
  ["fec0::1", true],
  ["fc00::1", true],
  ["fd00:ec2::254", true],
  ["fdff::", true],
  ["ff02::1", true],
  ["100::1", true],
  ["64:ff9b::7f00:1", true],
  ["64:ff9b::169.254.169.254", true],
  ["64:ff9b::8.8.8.8", false],
  ["2606:4700:4700::1111", false],
  ["[2606:4700:4700::1111]", false],
  ["2A00:1450:4001:800::200E", false],
  ["2001:4860:4860::8888", false],
  ["1.1.1.1", false],
  ["93.184.216.34", false],
])("%s: refused is %s", (address, refused) => {
  expect(isRefusedAddress(address)).toBe(refused);
});

test.each([
  "",
  ".",
  "example.com",
  "1.2.3.4.5",
  "256.1.1.1",
  "1.2.3.256",
  "08.8.8.8",
  "4294967296",
  "8.8.8.8 ",
  "-1.8.8.8",
  "2606:4700::1::2",
  "2606:4700",
  "2606:4700:::1",
  "1:2:3:4:5:6:7:8:9",
  "2606:4700::12345",
  "2606:4700::1%eth0",
  "fe80::1%25eth0",
  "1.2.3.4::",
  "::g",
])("%j is refused because it is not a complete address", (text) => {
  expect(isRefusedAddress(text)).toBe(true);
});

test.each([
  ["localhost", true],
  ["LOCALHOST", true],
  ["localhost.", true],
  ["api.localhost", true],
  ["api.localhost..", true],
  ["localhost.localdomain", true],
  ["ip6-loopback", true],
  ["", true],
  ["notlocalhost", false],
  ["localhost.example.com", false],
])("%j names this machine: %s", (name, local) => {
  expect(isLocalName(name)).toBe(local);
});

function numberOf(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

function dotted(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
}

function octal(value: number): string {
  return `0${value.toString(8)}`;
}

function hexadecimal(value: number): string {
  return `0x${value.toString(16).toUpperCase()}`;
}
