import { faultOfHost, parseDeclaredHost } from "../../core/base/address/declared-host.ts";
import { isObject } from "../../core/base/values.ts";

/** Hosts in `metadata.network` of a SKILL.md, separated by spaces. */
interface DeclaredNetwork {
  readonly hosts: readonly string[];
  /** Description of an invalid value or host. The valid hosts still count. */
  readonly fault: string | undefined;
}

export function readNetwork({ metadata }: { readonly [key: string]: unknown }): DeclaredNetwork {
  const network = isObject(metadata) ? metadata.network : undefined;
  if (network === undefined || network === null) return { hosts: [], fault: undefined };
  if (typeof network !== "string") return { hosts: [], fault: "is not text: separate hosts with spaces" };
  const named = network.split(/\s+/).filter(Boolean);
  const stray = named.find((host) => !parseDeclaredHost(host));
  const hosts = named.filter((host) => parseDeclaredHost(host));
  return { hosts, fault: stray === undefined ? undefined : `has ${faultOfHost(stray)}` };
}
