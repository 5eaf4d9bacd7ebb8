import type { ToolContext } from "skillflow";

/** Table names that a query may use, mapped to Better Stack's names for them. */
export type Tables = ReadonlyMap<string, string>;

const SOURCE = /^[A-Za-z][A-Za-z0-9_]{0,99}$/;

/** Returns the sources that the operator opened to queries. */
export function declaredSources(config: ToolContext["config"]): readonly string[] {
  const names = (config["BETTERSTACK_SOURCE"] ?? "").split(",").map((name) => name.trim());
  const sources = names.filter((name) => name !== "");
  const odd = sources.find((name) => !SOURCE.test(name));
  if (odd === undefined) return sources;
  throw new Error(`BETTERSTACK_SOURCE: "${odd.slice(0, 100)}" is not a source. Write it like t123456_my_app.`);
}

/** Returns the tables of one source: recent logs and spans, metrics, and long-term storage. */
export function tablesOf(source: string): Tables {
  const recent = ["logs", "spans", "metrics"].flatMap((kind) => {
    const place = `remote(${source}_${kind})`;
    return [[kind, place] as const, [`${source}_${kind}`, place] as const];
  });
  const history = `s3Cluster(primary, ${source}_s3)`;
  return new Map([...recent, ["history", history], [`${source}_s3`, history]]);
}
