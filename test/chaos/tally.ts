/** Counts of what was done to runs, and of the results. */
export interface Tally {
  runs: number;
  /** Processes that were killed. */
  deaths: number;
  /** How often a run was in progress in one of them. */
  kills: number;
  /** Calls that the record says are in doubt. */
  doubts: number;
  /** Number of interruptions by kind. */
  readonly struck: Map<string, number>;
  /** Number of interruptions by the last event in the record of a run when its process died. */
  readonly positions: Map<string, number>;
  /** Number of workflows by building block. */
  readonly parts: Map<string, number>;
  readonly failures: { readonly seed: number; readonly problem: string }[];
}

export function emptyTally(): Tally {
  const counts = { runs: 0, deaths: 0, kills: 0, doubts: 0 };
  return { ...counts, struck: new Map(), positions: new Map(), parts: new Map(), failures: [] };
}

export function count(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1);
}

export function summaryOf({ runs, deaths, kills, doubts, failures, ...by }: Tally): readonly string[] {
  return [
    "",
    ...tableOf("struck", by.struck),
    ...tableOf("the record ended with", by.positions),
    ...tableOf("runs with", by.parts),
    ...tableOf("all in all", [
      ["runs", runs],
      ["processes killed", deaths],
      ["runs cut off by that", kills],
      ["calls in doubt", doubts],
      ["failures", failures.length],
    ]),
  ];
}

function tableOf(title: string, rows: Iterable<readonly [string, number]>): readonly string[] {
  const ranked = [...rows];
  const width = Math.max(0, ...ranked.map(([what]) => what.length));
  return [title, ...ranked.map(([what, often]) => `  ${what.padEnd(width)}  ${String(often).padStart(6)}`), ""];
}
