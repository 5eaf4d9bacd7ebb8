import { isObject, isTexts } from "../../base/values.ts";
import {
  AUDIENCES,
  CLOCKS,
  type Effect,
  type McpServerConfig,
  ORIGINS,
  SOURCES,
  type Tool,
  type ToolDescriptor,
  type ToolReach,
} from "../skill.ts";

/** Origin, audience, source and other facts of tools as files declare them, and which declarations are trusted. */

const oneOf = (known: readonly string[]) =>
  [(value: unknown) => known.some((each) => each === value), known.join(" or ")] as const;

const REACH_KEYS = ["origin", "audience", "reads"] as const;

/** How each key of a tool is checked, and what it must be. */
const KEYS = {
  origin: oneOf(ORIGINS),
  audience: oneOf(AUDIENCES),
  reads: oneOf(SOURCES),
  targets: [isTexts, "a list of input fields"],
  echoes: [isTexts, "a list of result fields"],
  selects: [isTexts, "a list of input fields"],
  clock: oneOf(CLOCKS),
  range: [isRange, "a map with from and to, both input fields"],
} as const satisfies { readonly [Key in keyof ToolReach]: readonly [(value: unknown) => boolean, string] };

export const TOOL_REACH_KEYS: readonly string[] = Object.keys(KEYS);

/** Keys of SKILL.md, each a map by tool. */
const MAPS = {
  origins: "origin",
  audiences: "audience",
  reads: "reads",
  targets: "targets",
  echoes: "echoes",
  selects: "selects",
  clocks: "clock",
  ranges: "range",
} as const;
export const REACH_MAPS = Object.keys(MAPS) as readonly (keyof typeof MAPS)[];

const STRICTER = { origin: "stranger", audience: "public", reads: "private" } as const;

interface ReachFault {
  readonly path: readonly string[];
  readonly message: string;
}

function isRange(value: unknown): boolean {
  if (!isObject(value)) return false;
  return Object.entries(value).every(([end, name]) => (end === "from" || end === "to") && typeof name === "string");
}

/** Reads a tool's own keys. Ignores unknown values and reports them. */
export function readReach(tool: { readonly [key: string]: unknown }): {
  readonly reach: ToolReach;
  readonly faults: readonly ReachFault[];
} {
  const reach: Record<string, unknown> = {};
  const faults: ReachFault[] = [];
  for (const [key, [fits, wanted]] of Object.entries(KEYS)) {
    const value = tool[key];
    if (value === undefined || value === null) continue;
    if (fits(value)) reach[key] = value;
    else faults.push({ path: [key], message: `${key} must be ${wanted}` });
  }
  return { reach, faults };
}

/** Reads the maps of a SKILL.md (`origins`, `audiences`, `targets`, …), by tool. */
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

/** Reads the claimed effects of tools: a tool's own `effect`, or `metadata.effect` of the SKILL.md. */
export function claimedEffects(
  tools: readonly { readonly name: string; readonly effect?: unknown }[],
  { metadata }: { readonly [key: string]: unknown },
): ReadonlyMap<string, Effect> {
  const usual = isObject(metadata) ? metadata.effect : undefined;
  return new Map(
    tools.flatMap(({ name, effect = usual }) => (effect === "read" || effect === "write" ? [[name, effect]] : [])),
  );
}

/** Applies the strictest values to a tool of an untrusted skill, whatever it declares. */
export function unvouched(tool: Tool): Tool {
  const none = Object.fromEntries([...TOOL_REACH_KEYS, "contained", "most_result"].map((key) => [key, undefined]));
  return { ...tool, ...none, ...STRICTER };
}

/** Removes what only the executor's own tools may declare. */
export function uncontained({ contained: _, most_result: __, ...tool }: Tool): Tool {
  return tool;
}

/** Restricts a tool that forwards calls: it can write and reach at least as much as its target. */
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

/** Returns the keys that count only in the user's own file: those that loosen a server's limits or get it tokens. */
export function loosenings({ effects = {}, ...config }: McpServerConfig): readonly string[] {
  const readers = Object.entries(effects).filter(([, effect]) => effect === "read");
  const keys = REACH_KEYS.filter((key) => config[key] !== undefined && config[key] !== STRICTER[key]);
  const auth = config.auth === undefined ? [] : ["auth"];
  return [...readers.map(([tool]) => `effects.${tool}`), ...keys, ...auth];
}

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
