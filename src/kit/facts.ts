/** Facts that many tools share. Spread them into a tool's definition. Without an origin, anyone may cause the results. */

/** Reads the state at the time of the call. */
export const SNAPSHOT = { effect: "read", clock: "snapshot" } as const;
export const TEAM_SNAPSHOT = { ...SNAPSHOT, origin: "team" } as const;

/** Reads what happened between `from` and `to`. */
export const RANGE = { effect: "read", clock: "range", range: { from: "from", to: "to" } } as const;
export const TEAM_RANGE = { ...RANGE, origin: "team" } as const;

/** Reads what does not change. */
export const LASTING = { effect: "read", clock: "none" } as const;

/** Writes once: a repeated call finds its own work. */
export const WRITE_ONCE = { effect: "write", idempotent: true } as const;
