import { isLocalName } from "./address.ts";

/** Hosts that foreign code may reach, as its author declares them. */

/** One declaration: `api.example.com`, `*.example.com`, `127.0.0.1:8080`, `[::1]:8080`. */
export interface DeclaredHost {
  /** As `Endpoint` has it. */
  readonly host: string;
  /** Whether it stands for every name below `host`, and not for that name itself. */
  readonly isBelow: boolean;
  /** Undefined for those of http and https, 80 and 443. */
  readonly port: number | undefined;
}

/** Where a connection leads. */
export interface Endpoint {
  /** A name or an address in its one spelling: lowercase, decimal, without brackets and without a dot at its end. */
  readonly host: string;
  /** Whether `host` is an address. */
  readonly isAddress: boolean;
  readonly port: number | undefined;
}

/** Undefined for what is no such declaration: a URL, a path, `*`, a name of this machine's after `*.`. */
export function parseDeclaredHost(text: string): DeclaredHost | undefined {
  const isBelow = text.startsWith("*.");
  const endpoint = parseEndpoint(isBelow ? text.slice(2) : text);
  if (!endpoint || (isBelow && (endpoint.isAddress || isLocalName(endpoint.host)))) return undefined;
  return { host: endpoint.host, isBelow, port: endpoint.port };
}

/** Reads `host` or `host:port`. */
export function parseEndpoint(text: string): Endpoint | undefined {
  const [, written = "", digits] = /^(\[[\da-f:.]+\]|[^\s/?#@%*\\:[\]]+)(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  if (written === "" || !URL.canParse(`http://${written}/`) || port === 0 || (port ?? 0) > 65_535) return undefined;
  const { hostname } = new URL(`http://${written}/`);
  const host = hostname.replace(/^\[(.*)\]$/, "$1").replace(/(?<!\.)\.+$/, "");
  const isAddress = hostname.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/.test(hostname);
  return host === "" || host.length > LONGEST_NAME ? undefined : { host, isAddress, port };
}

const LONGEST_NAME = 253;

/** As it has to be declared to be reached. */
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

/** What is wrong with a text that is no declaration. */
export function faultOfHost(text: string): string {
  return `a host ${JSON.stringify(text)} that is none: write api.example.com, *.example.com or 127.0.0.1:8080`;
}

/** As people are told before they allow it. */
export function describeNetwork(network: true | readonly string[]): string {
  return network === true ? "the network" : `the network (${network.join(", ")})`;
}
