/** How rows are measured and told. */

export interface BenchRow {
  readonly name: string;
  readonly value: string;
  readonly target: string;
  /** How far inside the target: at least 1 is reached. Undefined where this machine cannot tell. */
  readonly ratio: number | undefined;
}

export const ROUNDS = 9;

export function row(name: string, value: string, target: string, ratio: number): BenchRow {
  return { name, value, target, ratio };
}

/** In milliseconds. */
export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
