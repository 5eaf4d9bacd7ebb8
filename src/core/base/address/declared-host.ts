import { isLocalName } from "./address.ts";

/** Network hosts that a skill's code may reach, as its author declares them. */

/** A declared host: `api.example.com`, `*.example.com`, `127.0.0.1:8080`, `[::1]:8080`. */
export interface DeclaredHost {
  /** Normalized, as in `Endpoint`. */
  readonly host: string;
  /** True if the declaration matches every name below `host`, but not `host` itself. */
  readonly isBelow: boolean;
  /** Undefined means the ports of http and https: 80 and 443. */
  readonly port: number | undefined;
}

export interface Endpoint {
  /** Normalized name or address: lowercase, decimal, without brackets or a trailing dot. */
  readonly host: string;
  readonly isAddress: boolean;
  readonly port: number | undefined;
}

/** Parses a declaration. Returns undefined for a URL, a path, `*`, or a wildcard for local names. */
export function parseDeclaredHost(text: string): DeclaredHost | undefined {
  const isBelow = text.startsWith("*.");
  const endpoint = parseEndpoint(isBelow ? text.slice(2) : text);
  if (!endpoint || (isBelow && (endpoint.isAddress || isLocalName(endpoint.host)))) return undefined;
  return { host: endpoint.host, isBelow, port: endpoint.port };
}

/** Parses `host` or `host:port`. */
export function parseEndpoint(text: string): Endpoint | undefined {
  const [, written = "", digits] = /^(\[[\da-f:.]+\]|[^\s/?#@%*\\:[\]]+)(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  if (written === "" || !URL.canParse(`http://${written}/`) || port === 0 || (port ?? 0) > 65_535) return undefined;
  const { hostname } = new URL(`http://${written}/`);
  const host = hostname.replace(/^\[(.*)\]$/, "$1").replace(/(?<!\.)\.+$/, "");
  const isAddress = hostname.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/.test(hostname);
  if (host.length > LONGEST_NAME || !(isAddress || NAME.test(host))) return undefined;
  return { host, isAddress, port };
}

const LONGEST_NAME = 253;
const NAME = /^[a-z\d._-]+$/;

/** Returns the declaration that would allow an endpoint. */
export function declarationOf({ host, port }: Endpoint): string {
  const shown = host.includes(":") ? `[${host}]` : host;
  return port === undefined || WEB_PORTS.includes(port) ? shown : `${shown}:${port}`;
}

export function isDeclared(declared: readonly DeclaredHost[], { host, isAddress, port }: Endpoint): boolean {
  return declared.some((each) => {
    const isHost = each.isBelow ? !isAddress && host.endsWith(`.${each.host}`) : host === each.host;
    return isHost && (each.port === undefined ? WEB_PORTS.includes(port ?? 0) : each.port === port);
  });
}

const WEB_PORTS: readonly number[] = [80, 443];

export function faultOfHost(text: string): string {
  return `the invalid host ${JSON.stringify(text)}: write api.example.com, *.example.com or 127.0.0.1:8080`;
}

/** Describes a network permission for the prompt that asks the user to allow it. */
export function describeNetwork(network: true | readonly string[]): string {
  return network === true ? "the network" : `the network (${network.join(", ")})`;
}
