/** Addresses that a URL source must not reach. */

/**
 * Reports whether an address is refused, in any notation: decimal, octal, hexadecimal and short IPv4, IPv6 with or
 * without brackets. Anything that is not an address is refused too, including zone ids.
 */
export function isRefusedAddress(text: string): boolean {
  const bare = /^\[(.*)\]$/.exec(text)?.[1] ?? text;
  if (!bare.includes(":")) return isRefusedIPv4(parseIPv4(bare));
  const groups = parseIPv6(bare);
  return groups === undefined || isRefusedIPv6(groups);
}

/** Reports whether a host name always refers to this machine, without asking a resolver. */
export function isLocalName(host: string): boolean {
  const name = host.toLowerCase().replace(/(?<!\.)\.+$/, "");
  return LOCAL_NAMES.has(name) || name.endsWith(".localhost") || name.endsWith(".localdomain");
}

const LOCAL_NAMES = new Set(["", "localhost", "ip6-localhost", "ip6-loopback"]);

function isRefusedIPv4(address: number | undefined): boolean {
  if (address === undefined) return true;
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
  return { base: parseIPv4(base) ?? 0, bits };
}

/** Parses IPv4 like inet_aton: one to four numbers, where the last one fills the remaining bytes. */
function parseIPv4(text: string): number | undefined {
  const numbers = text.replace(/\.$/, "").split(".").map(parseNumber);
  const last = numbers.pop() ?? Number.NaN;
  if (numbers.length > 3 || !(last < 256 ** (4 - numbers.length))) return undefined;
  if (!numbers.every((number) => number < 256)) return undefined;
  return numbers.reduce((sum, number, index) => sum + number * 256 ** (3 - index), last);
}

function parseNumber(text: string): number {
  if (/^0x[0-9a-f]*$/i.test(text)) return Number.parseInt(`0${text.slice(2)}`, 16);
  if (/^0[0-7]*$/.test(text)) return Number.parseInt(text, 8);
  return /^[1-9]\d*$/.test(text) ? Number(text) : Number.NaN;
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

/** Parses eight groups of 16 bits. Returns undefined if the text is not an IPv6 address. */
function parseIPv6(text: string): readonly number[] | undefined {
  const halves = withoutDots(text).split("::");
  const [head = [], tail] = halves.map((half) => (half === "" ? [] : half.split(":")));
  const missing = 8 - head.length - (tail?.length ?? 0);
  if (halves.length > 2 || (tail ? missing < 1 : missing !== 0)) return undefined;
  const groups = tail ? [...head, ...Array<string>(missing).fill("0"), ...tail] : head;
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  return groups.map((group) => Number.parseInt(group, 16));
}

/** Converts `::ffff:1.2.3.4` to `::ffff:102:304`. */
function withoutDots(text: string): string {
  const start = text.lastIndexOf(":") + 1;
  const dotted = text.slice(start);
  const address = dotted.includes(".") ? parseIPv4(dotted) : undefined;
  if (address === undefined) return text;
  return `${text.slice(0, start)}${(address >>> 16).toString(16)}:${(address & 0xffff).toString(16)}`;
}
