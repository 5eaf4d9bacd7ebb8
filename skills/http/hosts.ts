import { lookup as lookupNow } from "node:dns";
import { lookup } from "node:dns/promises";
import { BlockList, isIP, type LookupFunction } from "node:net";
import type { ToolContext } from "skillflow";
import type { Agent } from "undici";

/** Entry of HTTP_HOSTS. */
interface Host {
  readonly scheme: string | undefined;
  /** Defaults to the scheme's standard port. */
  readonly port: string | undefined;
  readonly name: string;
  /** True for a wildcard entry: it matches subdomains of `name`, but not `name` itself. */
  readonly isBelow: boolean;
}

export function hostsOf(config: ToolContext["config"]): readonly Host[] {
  const entries = (config["HTTP_HOSTS"] ?? "").split(/[\s,]+/).filter((entry) => entry !== "");
  if (entries.length === 0) throw new Error("HTTP_HOSTS lists no host, so no request is allowed in this run.");
  return entries.map(hostOf);
}

const ENTRY = /^(?:(https?):\/\/)?(\*\.)?([a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(?::(\d{1,5}))?\/?$/;

function hostOf(entry: string): Host {
  const [, scheme, star, name = "", port] = ENTRY.exec(entry.toLowerCase()) ?? [];
  if (name !== "" && !(star && !name.includes("."))) return { scheme, port, name, isBelow: star !== undefined };
  throw new Error(
    "HTTP_HOSTS has an entry that is not a host. Write api.example.com, *.example.com, or 10.0.0.5:8080.",
  );
}

type Resolve = (name: string) => Promise<readonly { readonly address: string }[]>;

export interface Admitted {
  readonly url: URL;
  /** Checks the address again when it connects. Undefined if HTTP_HOSTS lists an IP address or localhost. */
  readonly dispatcher: Agent | undefined;
}

/** Checks a URL. HTTP_HOSTS must list its host, and this machine and metadata services by their own address. */
export async function admit(
  text: string,
  { config }: Pick<ToolContext, "config">,
  resolve: Resolve = (name) => lookup(name, { all: true }),
): Promise<Admitted> {
  const hosts = hostsOf(config);
  const url = addressOf(text);
  const listed = hosts.filter((host) => fits(host, url));
  if (listed.length === 0) throw new Error(`${url.host} is not listed in HTTP_HOSTS. No request was sent.`);
  const isNamed = listed.some(({ name }) => isIP(bare(name)) !== 0 || name === "localhost");
  if (isNamed) return { url, dispatcher: undefined };
  const guarded = (await addressesOf(url.hostname, resolve)).find(isGuarded);
  if (guarded !== undefined) throw new GuardedAddress(url.hostname, guarded);
  return { url, dispatcher: await guardedAgent() };
}

export class GuardedAddress extends Error {
  constructor(host: string, address: string) {
    super(
      `${host} resolves to ${address}, a local or cloud metadata address that HTTP_HOSTS does not list. No request was sent.`,
    );
  }
}

let agent: Agent | undefined;

/** Returns an agent that checks the address on connect, because the name may resolve differently by then. */
async function guardedAgent(): Promise<Agent> {
  const { Agent } = await import("undici");
  agent ??= new Agent({ connect: { lookup: guardedLookup() }, pipelining: 0 });
  return agent;
}

export function guardedLookup(resolve: typeof lookupNow = lookupNow): LookupFunction {
  return (host, options, done) =>
    resolve(host, { ...options, all: true }, (error, found) => {
      if (error) return done(error, []);
      const guarded = found.find(({ address }) => isGuarded(address));
      if (guarded) return done(new GuardedAddress(host, guarded.address), []);
      if (options.all) return done(null, found);
      done(null, found[0]?.address ?? "", found[0]?.family);
    });
}

function addressOf(text: string): URL {
  if (!URL.canParse(text)) throw new Error("This is not an address. Write https://host/path.");
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol)) throw new Error("The address must start with http:// or https://.");
  if (url.username || url.password) throw new Error("The address must not contain a user name or a password.");
  url.hash = "";
  return url;
}

function fits({ scheme, port, name, isBelow }: Host, { protocol, hostname, port: given }: URL): boolean {
  if (scheme !== undefined && `${scheme}:` !== protocol) return false;
  const usual = protocol === "https:" ? "443" : "80";
  if ((given || usual) !== (port ?? usual)) return false;
  const asked = hostname.replace(/\.$/, "");
  return isBelow ? asked.endsWith(`.${name}`) : asked === name;
}

function bare(name: string): string {
  return name.replace(/^\[|\]$/g, "");
}

/** Resolves a host name. Returns nothing on failure, because the request will report the error. */
async function addressesOf(hostname: string, resolve: Resolve): Promise<readonly string[]> {
  if (isIP(bare(hostname)) !== 0) return [bare(hostname)];
  try {
    return (await resolve(hostname)).map(({ address }) => address);
  } catch {
    return [];
  }
}

const GUARDED = new BlockList();
GUARDED.addSubnet("0.0.0.0", 8, "ipv4");
GUARDED.addSubnet("127.0.0.0", 8, "ipv4");
GUARDED.addSubnet("169.254.0.0", 16, "ipv4");
GUARDED.addAddress("100.100.100.200", "ipv4");
GUARDED.addAddress("168.63.129.16", "ipv4");
GUARDED.addAddress("192.0.0.192", "ipv4");
GUARDED.addAddress("::", "ipv6");
GUARDED.addAddress("::1", "ipv6");
GUARDED.addSubnet("fe80::", 10, "ipv6");
GUARDED.addAddress("fd00:ec2::254", "ipv6");
GUARDED.addAddress("fd20:ce::254", "ipv6");

export function isGuarded(address: string): boolean {
  if (isIP(address) !== 6) return GUARDED.check(address, "ipv4");
  const embedded = embeddedIn(address);
  return GUARDED.check(address, "ipv6") || (embedded !== undefined && GUARDED.check(embedded, "ipv4"));
}

/** Prefixes of addresses that end with an IPv4 address: compatible, mapped, translated, and NAT64. */
const EMBEDDING = ["0:0:0:0:0:0", "0:0:0:0:0:ffff", "0:0:0:0:ffff:0", "64:ff9b:0:0:0:0"];

/** Returns the IPv4 address that an IPv6 address stands for. */
function embeddedIn(address: string): string | undefined {
  const [plain = ""] = address.split("%");
  const [head = "", tail] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split("::");
  const [before, after] = [head, tail ?? ""].map((part) => part.split(":").filter((group) => group !== ""));
  const zeros = Array<string>(8 - (before?.length ?? 0) - (after?.length ?? 0)).fill("0");
  const groups = [...(before ?? []), ...zeros, ...(after ?? [])];
  const place = groups[0] === "2002" ? 1 : EMBEDDING.includes(groups.slice(0, 6).join(":")) ? 6 : undefined;
  if (place === undefined) return undefined;
  const [high = 0, low = 0] = groups.slice(place, place + 2).map((group) => Number.parseInt(group, 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
