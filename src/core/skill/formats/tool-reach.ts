import { isObject } from "../../base/values.ts";
import {
  AUDIENCES,
  type Effect,
  type McpServerConfig,
  ORIGINS,
  SOURCES,
  type Tool,
  type ToolDescriptor,
  type ToolReach,
} from "../skill.ts";

/** What documents say of tools beside their effect, as far as it is sound, and whose word counts (extensions.md 7). */

const KNOWN = { origin: ORIGINS, audience: AUDIENCES, reads: SOURCES } as const;
export const REACH_KEYS = Object.keys(KNOWN) as readonly (keyof typeof KNOWN)[];

/** In SKILL.md each key is a map by tool. */
const MAPS = { origins: "origin", audiences: "audience", reads: "reads" } as const;
export const REACH_MAPS = Object.keys(MAPS) as readonly (keyof typeof MAPS)[];

const STRICTER = { origin: "stranger", audience: "public", reads: "private" } as const;

export interface ReachFault {
  readonly path: readonly string[];
  readonly message: string;
}

/** A tool's own keys. What is none of the known values says nothing. */
export function readReach(tool: { readonly [key: string]: unknown }): {
  readonly reach: ToolReach;
  readonly faults: readonly ReachFault[];
} {
  const said = REACH_KEYS.filter((key) => tool[key] !== undefined && tool[key] !== null);
  const isKnown = (key: (typeof REACH_KEYS)[number]) => KNOWN[key].some((value) => value === tool[key]);
  return {
    reach: Object.fromEntries(said.filter(isKnown).map((key) => [key, tool[key]])),
    faults: said
      .filter((key) => !isKnown(key))
      .map((key) => ({ path: [key], message: `${key} is ${KNOWN[key].join(" or ")}` })),
  };
}

/** `origins`, `audiences` and `reads` of a SKILL.md: by tool. */
export function readReachMaps(frontmatter: { readonly [key: string]: unknown }): {
  readonly reach: ReadonlyMap<string, ToolReach>;
  readonly faults: readonly ReachFault[];
} {
  const reach = new Map<string, ToolReach>();
  const faults = REACH_MAPS.flatMap((map): readonly ReachFault[] => {
    const said = frontmatter[map];
    if (said === undefined || said === null) return [];
    if (!isObject(said)) return [{ path: [map], message: `${map} must be a map of tools` }];
    return Object.entries(said).flatMap(([tool, value]) => {
      const read = readReach({ [MAPS[map]]: value });
      reach.set(tool, { ...reach.get(tool), ...read.reach });
      return read.faults.map(({ message }) => ({ path: [map, tool], message: `${map}.${tool}: ${message}` }));
    });
  });
  return { reach, faults };
}

/** What a skill's files say of the effects of its tools: each tool's own `effect`, or else `metadata.effect` of its SKILL.md. */
export function claimedEffects(
  tools: readonly { readonly name: string; readonly effect?: unknown }[],
  { metadata }: { readonly [key: string]: unknown },
): ReadonlyMap<string, Effect> {
  const usual = isObject(metadata) ? metadata.effect : undefined;
  return new Map(
    tools.flatMap(({ name, effect = usual }) => (effect === "read" || effect === "write" ? [[name, effect]] : [])),
  );
}

/** The tool of a skill that nobody vouches for: whatever it says of itself, the stricter counts. */
export function unvouched(tool: Tool): Tool {
  return { ...tool, ...STRICTER };
}

/** A tool that passes its calls on to another: it writes and reaches where that one does, whatever it says of itself. */
export function boundTo(tool: Tool, target: ToolDescriptor | undefined): Tool {
  if (!target) return { ...unvouched(tool), effect: "write" };
  return {
    ...tool,
    effect: target.effect === "write" ? "write" : tool.effect,
    ...(target.origin === "team" ? {} : { origin: "stranger" }),
    ...(target.audience === "public" ? { audience: "public" } : {}),
    ...(target.reads === "private" ? { reads: "private" } : {}),
  };
}

// ---- servers

/** Keys that count in the user's own file alone: what loosens what holds of a server's tools, and what gets it tokens. */
export function loosenings({ effects = {}, ...config }: McpServerConfig): readonly string[] {
  const readers = Object.entries(effects).filter(([, effect]) => effect === "read");
  const keys = REACH_KEYS.filter((key) => config[key] !== undefined && config[key] !== STRICTER[key]);
  const auth = config.auth === undefined ? [] : ["auth"];
  return [...readers.map(([tool]) => `effects.${tool}`), ...keys, ...auth];
}

/** The config with nothing in it that loosens. */
export function withoutLoosenings({ effects, ...config }: McpServerConfig): McpServerConfig {
  const strict = REACH_KEYS.filter((key) => config[key] === STRICTER[key]);
  const { origin: _, audience: __, reads: ___, auth: ____, ...server } = config;
  const writers = Object.entries(effects ?? {}).filter(([, effect]) => effect === "write");
  return {
    ...server,
    ...(writers.length > 0 ? { effects: Object.fromEntries(writers) } : {}),
    ...Object.fromEntries(strict.map((key) => [key, STRICTER[key]])),
  };
}
