import { faultOfHost, parseDeclaredHost } from "../../core/base/address/declared-host.ts";
import { isObject } from "../../core/base/values.ts";

/** The hosts that `metadata.network` of a SKILL.md names, with spaces between them. */
interface DeclaredNetwork {
  readonly hosts: readonly string[];
  /** What is wrong with what it says beside them, in words. */
  readonly fault: string | undefined;
}

export function readNetwork({ metadata }: { readonly [key: string]: unknown }): DeclaredNetwork {
  const network = isObject(metadata) ? metadata.network : undefined;
  if (network === undefined || network === null) return { hosts: [], fault: undefined };
  if (typeof network !== "string") return { hosts: [], fault: "is no text: write hosts with spaces between them" };
  const named = network.split(/\s+/).filter(Boolean);
  const stray = named.find((host) => !parseDeclaredHost(host));
  const hosts = named.filter((host) => parseDeclaredHost(host));
  return { hosts, fault: stray === undefined ? undefined : `has ${faultOfHost(stray)}` };
}
