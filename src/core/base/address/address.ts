/** Addresses that a URL source must not reach. */

/**
 * Reports whether an address is refused, in any notation: decimal, octal, hexadecimal and short IPv4, IPv6 with or
 * without brackets. Anything that is not an address is refused too, including zone ids. The notations are read as
 * `fetch` reads them.
 */
export function isRefusedAddress(text: string): boolean {
  const bare = /^\[(.*)\]$/.exec(text)?.[1] ?? text;
  const url = `http://${bare.includes(":") ? `[${bare}]` : bare}/`;
  if (!/^[\da-fx.:]+$/i.test(bare) || !URL.canParse(url)) return true;
  const { hostname } = new URL(url);
  if (hostname.startsWith("[")) return isRefusedIPv6(parseIPv6(hostname.slice(1, -1)));
  return !/^\d+\.\d+\.\d+\.\d+$/.test(hostname) || isRefusedIPv4(parseIPv4(hostname));
}

/** Reports whether a host name always refers to this machine, without asking a resolver. */
export function isLocalName(host: string): boolean {
  const name = host.toLowerCase().replace(/(?<!\.)\.+$/, "");
  return LOCAL_NAMES.has(name) || name.endsWith(".localhost") || name.endsWith(".localdomain");
}

const LOCAL_NAMES = new Set(["", "localhost", "ip6-localhost", "ip6-loopback"]);

function isRefusedIPv4(address: number): boolean {
  return REFUSED_IPV4.some(({ base, bits }) => (address ^ base) >>> (32 - bits) === 0);
}

const REFUSED_IPV4 = [
  range("0.0.0.0", 8),
  range("10.0.0.0", 8),
  range("100.64.0.0", 10),
  range("127.0.0.0", 8),
  range("168.63.129.16", 32), // Azure's metadata and agent service
  range("169.254.0.0", 16),
  range("172.16.0.0", 12),
  range("192.0.0.0", 24), // holds Oracle's metadata service
  range("192.168.0.0", 16),
  range("198.18.0.0", 15), // networks under test
  range("224.0.0.0", 4), // multicast
  range("240.0.0.0", 4), // reserved, broadcast
];

function range(base: string, bits: number): { readonly base: number; readonly bits: number } {
  return { base: parseIPv4(base), bits };
}

function parseIPv4(text: string): number {
  return text.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
}

/**
 * Allows only global unicast, without the ranges that embed an IPv4 address (6to4, Teredo). A NAT64 address is judged
 * by its IPv4 address, so that networks without IPv4 can reach public hosts.
 */
function isRefusedIPv6(groups: readonly number[]): boolean {
  const [first = 0, second = 0] = groups;
  const [high = 0, low = 0] = groups.slice(6);
  const isNat64 = first === 0x64 && second === 0xff9b && groups.slice(2, 6).every((group) => group === 0);
  if (isNat64) return isRefusedIPv4(high * 0x10000 + low);
  return (first & 0xe000) !== 0x2000 || first === 0x2002 || (first === 0x2001 && second === 0);
}

/** Parses eight groups of 16 bits. `::` stands for those that are missing. */
function parseIPv6(text: string): readonly number[] {
  const [head = [], tail = []] = text.split("::").map((half) => (half === "" ? [] : half.split(":")));
  const missing = Array<string>(8 - head.length - tail.length).fill("0");
  return [...head, ...missing, ...tail].map((group) => Number.parseInt(group, 16));
}
