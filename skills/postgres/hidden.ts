import type { ToolContext } from "skillflow";
import { namesThroughViews } from "./gate.ts";
import type { Session } from "./session.ts";
import type { Token } from "./tokens.ts";

/**
 * Columns that are never shown. A WITH query with only the other columns replaces each affected table. So the statement
 * cannot reach a hidden column, not even through whole-row references.
 */
interface Hiding {
  /** WITH queries to put in front of the statement. */
  readonly prefix: string;
  readonly hidden: readonly string[];
}

/** Rule of POSTGRES_HIDDEN_COLUMNS, such as `*.password`, `users.email` or `audit.users.email`. */
interface Rule {
  readonly schema: string | undefined;
  readonly table: string | undefined;
  readonly column: string;
}

export function rulesOf(config: ToolContext["config"]): readonly Rule[] {
  const names = (config["POSTGRES_HIDDEN_COLUMNS"] ?? "").split(/[\s,]+/).filter((name) => name !== "");
  return names.map((name) => {
    const parts = name.toLowerCase().split(".");
    const [column = "", table, schema] = parts.reverse();
    if (parts.length < 2 || parts.length > 3 || parts.includes(""))
      throw new Error("POSTGRES_HIDDEN_COLUMNS must list columns as table.column, schema.table.column or *.column.");
    return { column, table: table === "*" ? undefined : table, schema: schema === "*" ? undefined : schema };
  });
}

export function isHidden(rules: readonly Rule[], [schema, table, column]: readonly [string, string, string]): boolean {
  return rules.some(
    (rule) =>
      rule.column === column.toLowerCase() &&
      (rule.table === undefined || rule.table === table.toLowerCase()) &&
      (rule.schema === undefined || rule.schema === schema.toLowerCase()),
  );
}

/** Throws if a statement names a table with its schema, because a WITH query cannot replace it then. */
function refuseQualified({ schema, name, shown, hidden }: Table, tokens: readonly Token[]): void {
  const isNamed = tokens.some(
    ({ text }, at) => text === schema && tokens[at + 1]?.text === "." && tokens[at + 2]?.text === name,
  );
  if (!isNamed) return;
  const why = shown.length === 0 ? "cannot be read" : "must be named without its schema";
  throw new Error(`${schema}.${name} ${why}: these columns are never shown: ${hidden.slice(0, 10).join(", ")}.`);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Returns the statement with the queries in front, merged with its own WITH clause. */
export function withHiding(sql: string, tokens: readonly Token[], { prefix }: Hiding): string {
  if (prefix === "") return sql;
  const [first, second] = tokens;
  const isOwn = (token: Token | undefined, word: string) =>
    token?.kind === "name" && !token.isQuoted && token.text === word;
  if (!isOwn(first, "with")) return `WITH ${prefix} ${sql}`;
  const isRecursive = isOwn(second, "recursive");
  const rest = sql.slice((isRecursive ? second : first)?.end);
  return `WITH ${isRecursive ? "RECURSIVE " : ""}${prefix}, ${rest}`;
}

/** Catalogs that contain column values without naming the table. */
const SAMPLES =
  /^(?:pg_stats|pg_statistic|pg_stats_ext|pg_stats_ext_exprs|pg_statistic_ext_data|attmissingval|pg_attribute|pg_attrdef|pg_toast.*)$/;

export async function hide(tokens: readonly Token[], session: Session, config: ToolContext["config"]): Promise<Hiding> {
  const rules = rulesOf(config);
  const names = [...new Set(tokens.filter(({ kind }) => kind === "name").map(({ text }) => text))];
  if (rules.length === 0 || names.length === 0) return { prefix: "", hidden: [] };
  const sampled = [...(await namesThroughViews(tokens, session))].find((name) => SAMPLES.test(name));
  if (sampled) throw new Error(`${sampled} contains values of columns that are never shown.`);
  const tables = await namedTables(names, rules, session);
  for (const table of tables) refuseQualified(table, tokens);
  const parts = tables.flatMap(({ schema, name, shown, isFirst }) => {
    if (!isFirst) return [];
    if (shown.length === 0)
      throw new Error(
        `${schema}.${name} cannot be read: it is based on columns that are never shown. Read its tables.`,
      );
    return [
      `${quoted(name)} AS NOT MATERIALIZED (SELECT ${shown.map(quoted).join(", ")} FROM ${quoted(schema)}.${quoted(name)})`,
    ];
  });
  return {
    prefix: parts.join(", "),
    hidden: tables.flatMap(({ schema, name, hidden }) => hidden.map((column) => `${schema}.${name}.${column}`)),
  };
}

interface Table {
  readonly schema: string;
  readonly name: string;
  readonly shown: readonly string[];
  readonly hidden: readonly string[];
  /** True if the name without a schema refers to this table. */
  readonly isFirst: boolean;
}

async function namedTables(
  names: readonly string[],
  rules: readonly Rule[],
  session: Session,
): Promise<readonly Table[]> {
  const { rows } = await session.read(COLUMNS, [names]);
  const tables = new Map<string, { schema: string; name: string; isFirst: boolean; columns: [string, boolean][] }>();
  for (const row of rows) {
    const own = [String(row["schema"]), String(row["name"]), String(row["column"])] as const;
    const [schema, name, column] = own;
    const key = `${schema}.${name}`;
    const table = tables.get(key) ?? { schema, name, isFirst: row["is_first"] === true, columns: [] };
    const sources = row["sources"] as readonly (readonly [string, string, string])[];
    const isOne = [...sources, own].some((source) => isHidden(rules, source));
    table.columns.push([column, isOne]);
    tables.set(key, table);
  }
  return [...tables.values()].flatMap(({ columns, ...table }) => {
    const named = (is: boolean) => columns.flatMap(([column, isOne]) => (isOne === is ? [column] : []));
    return columns.some(([, isOne]) => isOne) ? [{ ...table, shown: named(false), hidden: named(true) }] : [];
  });
}

/**
 * Query for the columns of the named relations and their possible sources. These are the columns of parents and
 * children with the same name, all columns of a table whose row is the column's type and, for views, all columns of the
 * underlying tables and their children.
 */
const COLUMNS = `
WITH RECURSIVE named AS (
  SELECT c.oid, c.relname, n.nspname, c.relkind, pg_catalog.pg_table_is_visible(c.oid) AS is_first
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relname = ANY ($1::text[]) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
), edge AS (
  SELECT inhrelid AS below, inhparent AS source FROM pg_catalog.pg_inherits
  UNION SELECT r.ev_class, d.refobjid FROM pg_catalog.pg_rewrite r
    JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = r.oid
      AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid <> r.ev_class
), above AS (
  SELECT oid AS root, oid AS source FROM named
  UNION SELECT a.root, e.source FROM above a JOIN edge e ON e.below = a.source
), beneath AS (
  SELECT a.root, a.source FROM above a JOIN named n ON n.oid = a.root
  WHERE n.relkind IN ('v', 'm') OR a.source = a.root
  UNION SELECT b.root, i.inhrelid FROM beneath b JOIN pg_catalog.pg_inherits i ON i.inhparent = b.source
), kin AS (
  SELECT root, source FROM above UNION SELECT root, source FROM beneath
)
SELECT n.nspname AS schema, n.relname AS name, n.is_first, t.attname AS column,
  coalesce((
    SELECT pg_catalog.jsonb_agg(DISTINCT pg_catalog.jsonb_build_array(sn.nspname, s.relname, st.attname))
    FROM pg_catalog.pg_class s JOIN pg_catalog.pg_namespace sn ON sn.oid = s.relnamespace
    JOIN pg_catalog.pg_attribute st ON st.attrelid = s.oid AND st.attnum > 0 AND NOT st.attisdropped
    WHERE s.oid <> n.oid AND (
      s.oid IN (SELECT source FROM kin WHERE root = n.oid) AND (n.relkind IN ('v', 'm') OR st.attname = t.attname)
      OR s.oid IN (
        SELECT unnest(ARRAY[y.typrelid, e.typrelid, b.typrelid]) FROM pg_catalog.pg_type y
        LEFT JOIN pg_catalog.pg_type e ON e.oid = y.typelem LEFT JOIN pg_catalog.pg_type b ON b.oid = y.typbasetype
        WHERE y.oid = t.atttypid))
  ), '[]'::jsonb) AS sources
FROM named n JOIN pg_catalog.pg_attribute t ON t.attrelid = n.oid AND t.attnum > 0 AND NOT t.attisdropped
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
ORDER BY n.oid, t.attnum`;
