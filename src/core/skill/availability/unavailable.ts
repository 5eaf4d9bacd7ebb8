export const UNAVAILABLE_KINDS = [
  /** A required config field has no value. */
  "config_missing",
  /** A config value is malformed. */
  "config_form",
  /** The machine or the working directory lacks something. */
  "machine",
  /** It has nothing to work on here, such as a git repository. */
  "not_applicable",
  /** Disabled by config, or a flag is missing. */
  "disabled",
  "untrusted",
  /** Its MCP server cannot be used. */
  "server",
  /** A dry run connects to no servers or agents. */
  "unconnected",
  /** Its files cannot be used. */
  "invalid",
  /** A policy does not allow it. */
  "policy",
  /** No skill has this id. */
  "unknown",
] as const;

export interface Unavailable {
  readonly kind: (typeof UNAVAILABLE_KINDS)[number];
  readonly reason: string;
  /** Advice that begins with an imperative verb. */
  readonly fix?: string;
}

/** Something that a skill lacks on this machine or in a run. */
export type Lack = Unavailable & { readonly kind: "config_missing" | "config_form" | "machine" | "not_applicable" };
