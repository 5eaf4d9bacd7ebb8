import type { Session } from "./session.ts";
import { type Token, tokensOf } from "./tokens.ts";

/**
 * Checks a statement. The read-only transaction protects tables. This check also blocks functions that do more than
 * compute, such as those that read files, open connections, end sessions or run SQL from a string.
 */
export async function admit(sql: string, session: Session): Promise<readonly Token[]> {
  const tokens = tokensOf(sql);
  if (tokens.length === 0) throw new Error("The statement is empty.");
  if (tokens.some((token, at) => isSign(token, ";") && (at === 0 || at < tokens.length - 1)))
    throw new Error("Write one statement, without `;`.");
  refuseUnclearNames(tokens);
  await refuseCredentials(tokens, session);
  const called = namesWhere(tokens, (at) => isSign(tokens[at + 1], "("));
  const dotted = namesWhere(tokens, (at) => isSign(tokens[at - 1], "."));
  if (called.length + dotted.length === 0) return tokens;
  if (called.includes("treat"))
    throw new Error("Not allowed: TREAT, which calls the function with the name of a type.");
  if (tokens.some((_, at) => readsOwnSetting(tokens.slice(at, at + 4))))
    throw new Error(
      "Not allowed: current_setting, except for a setting of the server by its name, as a text without a dot.",
    );
  const { rows } = await session.read(FUNCTIONS, [called, dotted]);
  const refused = rows.filter((row) => !isHarmless(String(row["name"]), String(row["kind"]), row["built_in"] === true));
  if (refused.length === 0) return tokens;
  const names = [...new Set(refused.map(({ name }) => String(name)))];
  const advice = names.every((name) => called.includes(name))
    ? ""
    : " `x.name` may call a function. Name a column or a table that has a function's name without a prefix.";
  throw new Error(
    `Not allowed: ${names.join(", ")}. Only functions that compute from their arguments are allowed, not other functions of extensions or users.${advice}`,
  );
}

function isSign(token: Token | undefined, text: string): boolean {
  return token?.kind === "sign" && token.text === text;
}

/** Returns true for a setting of an application, which may be a secret, or one that is not named plainly. */
function readsOwnSetting([name, open, setting, next]: readonly Token[]): boolean {
  if (name?.kind !== "name" || name.text !== "current_setting" || !isSign(open, "(")) return false;
  return setting?.kind !== "text" || !/^'\w+'$/.test(setting.text) || !(isSign(next, ")") || isSign(next, ","));
}

const LONGEST_NAME = 63;

/** Throws if the server may look up another name than this check: it cuts long names, and encodings differ in case. */
function refuseUnclearNames(tokens: readonly Token[]): void {
  for (const { kind, text, isQuoted } of tokens) {
    if (kind !== "name") continue;
    if (Buffer.byteLength(text) > LONGEST_NAME)
      throw new Error(`The name ${text} is longer than ${LONGEST_NAME} bytes.`);
    if (!isQuoted && text !== text.toLowerCase())
      throw new Error(`Write "${text}" in double quotes, in its exact case.`);
  }
}

/** System relations with passwords, access rules or the contents of server files. */
const CREDENTIALS = new Set(
  `pg_authid pg_shadow pg_user_mapping pg_user_mappings _pg_user_mappings user_mapping_options pg_foreign_server
  _pg_foreign_servers pg_db_role_setting foreign_server_options pg_subscription pg_largeobject pg_hba_file_rules pg_ident_file_mappings pg_file_settings`
    .trim()
    .split(/\s+/),
);
/** Maximum nesting depth of views. */
const MOST_VIEWS_DEEP = 16;

/** Throws if a statement names relations with credentials, even through views or in unusual spelling. */
async function refuseCredentials(tokens: readonly Token[], session: Session): Promise<void> {
  const refused = [...(await namesThroughViews(tokens, session))].find((name) => CREDENTIALS.has(name));
  if (refused !== undefined) throw new Error(`Not allowed: ${refused}, which contains credentials of the server.`);
}

/** Returns the names in a statement, and in the definitions of the users' views that it names, at any depth. */
export async function namesThroughViews(tokens: readonly Token[], session: Session): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  let names = namesIn(tokens);
  for (let depth = 0; names.length > 0; depth++) {
    if (depth === MOST_VIEWS_DEEP) throw new Error("Not allowed: views that are nested too deeply.");
    for (const name of names) seen.add(name);
    const { rows } = await session.read(VIEWS, [names]);
    const inside = rows.flatMap(({ definition }) => namesIn(tokensOf(String(definition))));
    names = [...new Set(inside)].filter((name) => !seen.has(name));
  }
  return seen;
}

function namesIn(tokens: readonly Token[]): string[] {
  return namesWhere(tokens, () => true);
}

function namesWhere(tokens: readonly Token[], isWanted: (at: number) => boolean): string[] {
  return [...new Set(tokens.flatMap(({ kind, text }, at) => (kind === "name" && isWanted(at) ? [text] : [])))];
}

/** User views only. System views such as pg_roles hide secrets themselves. */
const VIEWS = `
SELECT pg_catalog.pg_get_viewdef(oid) AS definition FROM pg_catalog.pg_class
WHERE relname = ANY ($1::text[]) AND relkind IN ('v', 'm') AND oid >= 16384`;

/**
 * Functions of the names before a parenthesis, and of those after a dot, because `x.f` calls `f(x)`. Names that are not
 * functions are not in the catalog and do no harm. Aggregates of users count as volatile, because what they call may be.
 */
const FUNCTIONS = `
SELECT p.proname AS name, n.nspname = 'pg_catalog' AS built_in,
  CASE WHEN p.prokind = 'a' AND n.nspname <> 'pg_catalog' THEN 'v' ELSE p.provolatile::text END AS kind
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE p.proname = ANY ($1::text[])
  OR (p.proname = ANY ($2::text[]) AND p.pronargs > 0 AND p.pronargs - p.pronargdefaults <= 1)`;

/** Volatile functions that only return information. */
const TELLING = new Set(
  `age clock_timestamp gen_random_uuid pg_available_extensions pg_blocking_pids pg_column_size pg_current_wal_lsn
  pg_current_wal_insert_lsn pg_database_size pg_indexes_size pg_is_in_recovery pg_is_wal_replay_paused
  pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp pg_lock_status pg_postmaster_start_time
  pg_relation_size pg_safe_snapshot_blocking_pids pg_table_size pg_tablespace_size pg_total_relation_size
  pg_wal_lsn_diff random random_normal statement_timestamp timeofday uuidv4 uuidv7`
    .trim()
    .split(/\s+/),
);

/** Functions that read tables named in a string, which the statement itself does not show. */
const PAST_THE_TEXT = /_to_xml|_to_xmlschema|^ts_(stat|rewrite)$|^pg_(read|ls|stat)_|^lo_|^dblink|^crosstab|^connectby/;

function isHarmless(name: string, kind: string, isBuiltIn: boolean): boolean {
  if (PAST_THE_TEXT.test(name) && !/^pg_stat_(get|clear_snapshot)/.test(name)) return false;
  if (!isBuiltIn) return kind === "i";
  return kind !== "v" || TELLING.has(name);
}
