import type { ProjectConfig } from "../../document/config.ts";
import { matchesPattern } from "../../skill/glob.ts";
import type { Rate } from "../ports.ts";

const UNITS = { second: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/**
 * Merges the rates of several files, which all workers of a database share, keeping the strictest. Returns undefined if
 * there are none.
 */
export function declaredRates(files: readonly Pick<ProjectConfig, "rates">[]) {
  const declared = files.flatMap(({ rates = {} }) => [
    ...(rates.runs === undefined ? [] : [rateOf("runs", "", rates.runs)]),
    ...Object.entries(rates.models ?? {}).map(([pattern, text]) => rateOf("model", pattern, text)),
    ...Object.entries(rates.skills ?? {}).map(([id, text]) => rateOf("skill", id, text)),
  ]);
  if (declared.length === 0) return undefined;
  const rates = new Map<string, Declared>();
  for (const rate of declared) {
    const known = rates.get(rate.name);
    if (!known || rate.most < known.most) rates.set(rate.name, rate);
  }
  // Timed rates come first, so that no slot is held while waiting. The fixed order prevents deadlocks.
  const order = (rate: Rate) => `${rate.perMs === undefined ? 1 : 0} ${rate.name}`;
  const all = [...rates.values()].sort((a, b) => (order(a) < order(b) ? -1 : 1));
  const matching = (kind: Declared["kind"], name: string): readonly Rate[] =>
    all.filter((rate) => rate.kind === kind && matchesPattern(rate.pattern, name));
  return {
    runs: matching("runs", ""),
    /** Takes `provider:name`. */
    ofModel: (name: string) => matching("model", name),
    ofSkill: (id: string) => matching("skill", id),
  };
}

interface Declared extends Rate {
  readonly kind: "runs" | "model" | "skill";
  readonly pattern: string;
}

function rateOf(kind: Declared["kind"], pattern: string, said: string | number): Declared {
  const [most = "", unit] = String(said).split("/");
  const what = [kind, ...(pattern === "" ? [] : [pattern])].join(" ");
  const isTimed = (name: string | undefined): name is keyof typeof UNITS => name !== undefined && name in UNITS;
  if (!isTimed(unit)) return { kind, pattern, name: what, most: Number(most), perMs: undefined };
  return { kind, pattern, name: `${what} per ${unit}`, most: Number(most), perMs: UNITS[unit] };
}

/** Describes a rate: `50 a minute`, `8 at a time`. */
export function describeRate({ most, perMs }: Rate): string {
  const unit = Object.entries(UNITS).find(([, ms]) => ms === perMs)?.[0];
  return unit === undefined ? `${most} at a time` : `${most} ${unit === "hour" ? "an" : "a"} ${unit}`;
}
