import { createServer } from "node:net";
import { Client } from "pg";
import type { JsonObject, ToolContext } from "skillflow";
import { startLoopback, toolContext } from "skillflow/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import postgres from "../../skills/postgres/skill.ts";
import { tokensOf, withoutValues } from "../../skills/postgres/tokens.ts";
import { describeQuestions } from "../contracts/questions.ts";
import { callTool, describeSkill, failureOf, fits } from "../contracts/skill.ts";
import { type RunningPostgres, startPostgres, whyNoPostgres } from "../services/postgres.ts";

const PASSWORD = "pgcanary-p@ss/word";
const reason = whyNoPostgres();
if (reason) process.stderr.write(`Skipping the tests of the postgres skill: ${reason}.\n`);

/** Longest name that Postgres keeps. */
const LONG = `long_${"x".repeat(58)}`;

const SQL = `
CREATE TABLE orders (id bigint PRIMARY KEY, state text NOT NULL, note text, created_at timestamptz DEFAULT now());
INSERT INTO orders SELECT n, CASE n % 3 WHEN 0 THEN 'failed' ELSE 'paid' END, 'order ' || n, '2026-01-31T08:00:00Z'
  FROM generate_series(1, 1000) n;
CREATE TABLE users (id int PRIMARY KEY, name text, email text, password_hash text, payload bytea, settings jsonb);
INSERT INTO users VALUES (1, 'Ada', 'ada-hidden@example.com', 'hash-hidden', '\\x0102', '{"a": 1}'), (2, 'Bob', NULL, NULL, NULL, NULL);
CREATE VIEW people AS SELECT id, email AS contact FROM users;
CREATE VIEW more_people AS SELECT * FROM people;
CREATE TABLE logins (id int, email text) PARTITION BY RANGE (id);
CREATE TABLE logins_first PARTITION OF logins FOR VALUES FROM (0) TO (100);
INSERT INTO logins VALUES (1, 'login-hidden@example.com');
CREATE TABLE visits (id int, code text) PARTITION BY RANGE (id);
CREATE TABLE visits_a PARTITION OF visits FOR VALUES FROM (0) TO (100);
CREATE TABLE visits_b PARTITION OF visits FOR VALUES FROM (100) TO (200);
INSERT INTO visits VALUES (1, 'code-hidden'), (101, 'code-shown');
CREATE VIEW all_visits AS SELECT id, code FROM visits;
CREATE TABLE changes (id int, old users, olds users[]);
INSERT INTO changes SELECT 1, u, ARRAY[u] FROM users u WHERE id = 1;
CREATE VIEW spread AS SELECT tablename, most_common_vals::text FROM pg_stats;
CREATE TABLE secrets (value text);
CREATE TABLE Ämter (id int, email text);
INSERT INTO Ämter VALUES (1, 'office-hidden@example.com');
CREATE TABLE ${LONG} (email text);
INSERT INTO ${LONG} VALUES ('long-hidden@example.com');
CREATE SEQUENCE ticket;
CREATE VIEW keys AS SELECT rolname, rolpassword FROM pg_authid;
CREATE VIEW "More Keys" AS SELECT * FROM keys;
CREATE MATERIALIZED VIEW kept_keys AS SELECT passwd FROM pg_shadow;
CREATE VIEW members AS SELECT rolname, rolpassword FROM pg_roles;
CREATE SCHEMA audit;
CREATE TABLE audit.users (id int, email text);
INSERT INTO audit.users VALUES (1, 'audit-hidden@example.com');
CREATE FUNCTION wipe() RETURNS int LANGUAGE plpgsql VOLATILE AS 'BEGIN DELETE FROM orders; RETURN 1; END';
CREATE FUNCTION wipe_one(n int) RETURNS int LANGUAGE plpgsql VOLATILE AS 'BEGIN DELETE FROM orders; RETURN n; END';
CREATE FUNCTION wipe_stable() RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN 1; END';
CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT n * 2';
CREATE FUNCTION mails() RETURNS text LANGUAGE sql STABLE AS 'SELECT string_agg(email, '','') FROM users';
CREATE ROLE triage LOGIN PASSWORD 'x' IN ROLE pg_read_all_stats;
GRANT SELECT ON visits, visits_a, visits_b, all_visits, changes, spread TO triage;
GRANT SELECT ON orders, users, people, more_people, logins, logins_first, Ämter TO triage;
GRANT SELECT ON ${LONG} TO triage;
GRANT USAGE ON SCHEMA audit TO triage; GRANT SELECT ON audit.users TO triage;
ANALYZE;`;

const INPUTS: Readonly<Record<string, JsonObject>> = {
  query: { sql: "SELECT state, count(*) FROM orders GROUP BY 1 ORDER BY 2 DESC" },
  explain: { sql: "SELECT * FROM orders WHERE id = 7" },
  list_tables: {},
  describe_table: { table: "orders" },
  list_queries: {},
  list_locks: {},
  check_health: {},
  list_replication: {},
  list_indexes: {},
  top_statements: {},
};

let database: RunningPostgres;
const at = (user: string, more = "") => {
  const { port } = new URL(database.url ?? "");
  return `postgres://${user}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres${more}`;
};

async function asOwner<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const contextFor = (parts: Readonly<Record<string, string>> = {}, user = "triage"): ToolContext =>
  toolContext({ config: { POSTGRES_URL: at(user), ...parts } });
const call = (name: string, input: JsonObject, context: ToolContext) =>
  callTool(postgres, name, input, context) as Promise<JsonObject>;
const query = (sql: string, context = contextFor()) => call("query", { sql }, context);

beforeAll(async () => {
  if (reason) return;
  database = await startPostgres({ listens: true, preloads: "pg_stat_statements" });
  await asOwner(async (client) => {
    await client.query(SQL);
    await client.query("ALTER SYSTEM SET max_prepared_transactions = 2");
  });
  await database.crash();
}, 60_000);
afterAll(() => database?.stop());

describe.skipIf(reason)("the postgres skill", { timeout: 60_000 }, () => {
  describeQuestions(postgres, async () => contextFor(), {
    "Is the database the cause?": {
      asks: [
        ["list_queries", {}],
        ["list_locks", {}],
      ],
      tells: ['"connections_limit":100', "No session waits for a lock now"],
    },
    "Why is a statement slow?": {
      asks: [
        ["explain", { sql: "SELECT count(*) FROM orders WHERE state = 'failed'" }],
        ["describe_table", { table: "orders" }],
        ["list_tables", { sort: "full_scans" }],
      ],
      tells: ["Seq Scan", "orders_pkey", "full_scans"],
    },
    "What does the data show?": {
      asks: [["query", { sql: "SELECT state, count(*) FROM orders GROUP BY 1 ORDER BY 2" }]],
      tells: ["failed", "333"],
    },
  });

  describe("reads", () => {
    it("rows as lists, with values as JSON", async () => {
      expect(await query("SELECT state, count(*) FROM orders GROUP BY 1 ORDER BY 2 DESC")).toEqual({
        columns: ["state", "count"],
        rows: [
          ["paid", 667],
          ["failed", 333],
        ],
        row_count: 2,
      });
      const kinds =
        "SELECT 1.50::numeric, 9007199254740993, true, NULL, '\\x010203'::bytea, '{\"a\": [1]}'::jsonb, now() > '2000-01-01', 'NaN'::float8, 1, 2";
      expect((await query(kinds))["rows"]).toEqual([
        ["1.50", "9007199254740993", true, null, "(3 bytes)", { a: [1] }, true, "NaN", 1, 2],
      ]);
    });

    it("no more rows than requested, with a note that there are more, and an empty result is not a refusal", async () => {
      const some = await call("query", { sql: "SELECT * FROM orders;", limit: 3 }, contextFor());
      expect(some).toMatchObject({ row_count: 3, more: true, note: expect.stringContaining("more rows") });
      expect(await query("TABLE orders LIMIT 0")).toMatchObject({
        rows: [],
        note: expect.stringContaining("no row matches"),
      });
      await expect(query("SELECT * FROM secrets")).rejects.toThrow(
        /no permission to read this. Do not treat it as an empty result.*42501/,
      );
    });

    it("plans without executing anything", async () => {
      expect(JSON.stringify(await call("explain", INPUTS["explain"] ?? {}, contextFor()))).toContain(
        "Index Scan using orders_pkey",
      );
      await call("explain", { sql: "DELETE FROM orders" }, contextFor({}, "postgres"));
      for (const sql of [
        "ANALYZE SELECT 1",
        "(ANALYZE) DELETE FROM orders",
        "SELECT wipe()",
        "SELECT 1; DELETE FROM orders",
      ])
        await expect(call("explain", { sql }, contextFor({}, "postgres"))).rejects.toThrow(
          /syntax error|Not allowed|one statement/,
        );
      expect(await orders()).toBe(1000);
    });

    it("sizes, columns, indexes and bloat", async () => {
      const { tables } = await call("list_tables", { contains: "ORDERS", sort: "dead_rows" }, contextFor());
      expect(tables).toEqual([expect.objectContaining({ name: "public.orders", rows_expected: 1000, dead_rows: 0 })]);
      const table = await call("describe_table", { table: "public.orders" }, contextFor());
      expect(table).toMatchObject({
        table: "public.orders",
        kind: "table",
        columns: [
          { name: "id", type: "bigint", required: true },
          { name: "state" },
          { name: "note" },
          { default: "now()" },
        ],
        indexes: [{ name: "orders_pkey", valid: true }],
        constraints: expect.arrayContaining(["orders_pkey: PRIMARY KEY (id)"]),
      });
      await expect(call("describe_table", { table: "nothing" }, contextFor())).rejects.toThrow(/no such table/);
      expect(await call("list_tables", { contains: "nothing" }, contextFor())).toMatchObject({
        tables: [],
        matching: 0,
      });
    });

    it("running statements and lock waits, without the values of statements", async () => {
      await asOwner(async (holder) => {
        await holder.query("BEGIN");
        await holder.query("UPDATE orders SET note = 'private-note' WHERE id = 1");
        await asOwner(async (waiter) => {
          const waiting = waiter.query("UPDATE orders SET note = 'other-note' WHERE id = 1");
          let waits: JsonObject = {};
          while (!(waits["waits"] as JsonObject[] | undefined)?.length)
            waits = await call("list_locks", {}, contextFor());
          expect(waits).toMatchObject({
            waits: [
              {
                wants: expect.stringContaining("ShareLock"),
                query: "update orders set note = ? where id = ?",
                blocker_state: "idle in transaction",
              },
            ],
          });
          const queries = await call("list_queries", { min_seconds: 0 }, contextFor());
          expect(queries).toMatchObject({ matching: 2, connections_limit: 100 });
          expect(JSON.stringify([waits, queries])).not.toMatch(/private-note|other-note/);
          await holder.query("ROLLBACK");
          await waiting;
        });
      });
      expect(await call("list_locks", {}, contextFor())).toMatchObject({
        waits: [],
        note: "No session waits for a lock now.",
      });
    });

    it("a lock that a prepared transaction holds", async () => {
      await asOwner(async (holder) => {
        await holder.query("BEGIN; UPDATE orders SET note = 'x' WHERE id = 2; PREPARE TRANSACTION 'left'");
        await asOwner(async (waiter) => {
          const waiting = waiter.query("UPDATE orders SET note = 'y' WHERE id = 2");
          const text = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
          while (!(await holder.query(text)).rowCount);
          const { waits } = await call("list_locks", {}, contextFor());
          await holder.query("ROLLBACK PREPARED 'left'");
          await waiting;
          expect(waits).toEqual([expect.objectContaining({ blocker_state: "prepared transaction" })]);
        });
      });
    });

    it("reports what is not installed, and what the role does not see", async () => {
      await expect(call("top_statements", {}, contextFor())).rejects.toThrow(/pg_stat_statements is not installed/);
      await asOwner((client) => client.query("CREATE EXTENSION pg_stat_statements"));
      for (const _ of [1, 2, 3]) await query("SELECT count(*) FROM orders WHERE note = 'private-note'");
      const { statements } = await call("top_statements", { sort: "calls", limit: 50 }, contextFor());
      expect(JSON.stringify(statements)).toMatch(/"calls":3,"total_seconds":[^}]*from orders where note =/);
      expect(JSON.stringify(statements)).not.toContain("private-note");
      expect(await postgres.probe?.(contextFor())).toBe("triage can read postgres");
      expect(await postgres.probe?.(contextFor({}, "postgres"))).toMatch(/superuser: use a role that can only read/);
    });

    it("statistics, unused indexes, and replication", async () => {
      await asOwner(async (client) => {
        await client.query(
          "CREATE SEQUENCE nearly MAXVALUE 100; SELECT setval('nearly', 97); GRANT SELECT ON nearly TO triage",
        );
        await client.query("CREATE INDEX first_of ON orders (state); CREATE INDEX second_of ON orders (state)");
        await client.query("SELECT pg_create_physical_replication_slot('lost', true)");
      });
      expect(await call("check_health", {}, contextFor())).toMatchObject({
        ...{ database: "postgres", deadlocks: 0, connections_limit: 100, invalid_indexes: 0 },
        ...{ cache_hit_percent: expect.any(Number), transaction_ids_used_percent: expect.any(Number) },
        sequences_near_end: [{ name: "public.nearly", used_percent: 97 }],
      });
      const { indexes, note } = await call("list_indexes", { contains: "orders" }, contextFor());
      expect(indexes).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ name: "first_of", table: "public.orders", scans: 0, broken: false }),
          expect.objectContaining({ name: "second_of", equal_to: "first_of" }),
        ]),
      );
      expect(note).toMatch(/only on this server/);
      expect(await call("list_indexes", { contains: "nothing" }, contextFor())).toMatchObject({
        indexes: [],
        matching: 0,
      });
      expect(await call("list_replication", {}, contextFor())).toMatchObject({
        ...{ is_replica: false, replicas: [] },
        slots: [{ name: "lost", active: false, status: "reserved", holds_back: expect.any(String) }],
      });
      await asOwner((client) =>
        client.query("DROP INDEX first_of, second_of; SELECT pg_drop_replication_slot('lost')"),
      );
      expect(await call("list_replication", {}, contextFor())).toMatchObject({
        note: "This server has no replicas.",
      });
    });
  });

  const orders = () =>
    asOwner(async (client) => Number((await client.query("SELECT count(*) FROM orders")).rows[0].count));

  describe("does nothing else, even for a superuser", () => {
    it.each([
      "SET TRANSACTION READ WRITE",
      "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
      "SELECT set_config('transaction_read_only', 'off', true)",
      "SELECT pg_catalog . \"set_config\" ('transaction_read_only', 'off', false)",
      "SELECT 1; DELETE FROM orders",
      "SELECT 1; COMMIT; DELETE FROM orders",
      "SELECT $$;$$; DELETE FROM orders",
      "COMMIT",
      "ROLLBACK",
      "DELETE FROM orders",
      "WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone",
      "TRUNCATE orders",
      "SELECT * INTO copied FROM orders",
      "SELECT * FROM orders FOR UPDATE",
      "COPY orders TO PROGRAM 'touch /tmp/skillflow-was-here'",
      "COPY (SELECT 1) TO '/tmp/skillflow-was-here'",
      "DO $$ BEGIN DELETE FROM orders; END $$",
      "CALL wipe()",
      "SELECT wipe()",
      "SELECT public.wipe ( )",
      "SELECT public/* a /* b */ */.wipe/* ( */()",
      'SELECT "wipe"--x\n()',
      "SELECT wipe_stable()",
      "SELECT mails()",
      'SELECT U&"w\\0069pe"()',
      "SELECT nextval('ticket')",
      "SELECT pg_sleep(60)",
      "SELECT pg_sleep_for('1 minute')",
      "SELECT pg_read_file('/etc/passwd')",
      "SELECT pg_read_binary_file('/etc/passwd')",
      "SELECT pg_ls_dir('/')",
      "SELECT * FROM pg_stat_file('/etc/passwd')",
      "SELECT lo_import('/etc/passwd')",
      "SELECT lo_export(1, '/tmp/skillflow-was-here')",
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity",
      "SELECT pg_cancel_backend(1)",
      "SELECT pg_reload_conf()",
      "SELECT pg_notify('a', 'b')",
      "SELECT ('/etc/passwd'::text).pg_read_file",
      "SELECT (ARRAY['/etc/passwd'::text])[1].pg_read_file",
      "SELECT t.pg_read_file FROM unnest(ARRAY['/etc/passwd'::text]) AS t",
      'SELECT t . "pg_read_file" FROM unnest(ARRAY[$$/etc/passwd$$::text]) AS t',
      "SELECT (0).pg_terminate_backend",
      "SELECT 1 --\r, length(pg_read_file('/etc/passwd'))",
      "SELECT rolpassword FROM --\r pg_authid",
      "SELECT E'a'\n'\\'' , length(pg_read_file('/etc/passwd')) --'",
      "SELECT E'a' -- on\n'\\'' , length(pg_read_file('/etc/passwd')) --'",
      "SELECT 1 AS \u00a0$a$, length(pg_read_file('/etc/passwd')) AS x$a$",
      "SELECT 1 AS \u3000$a$, length(pg_read_file('/etc/passwd')) AS x$a$",
      "SELECT TREAT('/etc/passwd'::text AS pg_read_file)",
      "SELECT TREAT(0.3 AS pg_catalog.pg_sleep)",
      "SELECT current_setting('app.jwt_secret', true)",
      "SELECT pg_catalog.current_setting ( 'app' || '.jwt_secret', true)",
      "SELECT setconfig FROM pg_db_role_setting",
      "SELECT srvoptions FROM information_schema._pg_foreign_servers",
      "SELECT pg_advisory_lock(1)",
      "SELECT pg_stat_reset()",
      "SELECT query_to_xml('DELETE FROM orders', true, true, '')",
      "SELECT table_to_xml('users', true, true, '')",
      "SELECT database_to_xml(true, true, '')",
      "SELECT * FROM ts_stat('SELECT to_tsvector(email) FROM users')",
      "LISTEN x",
      "PREPARE p AS SELECT 1",
      "EXPLAIN ANALYZE DELETE FROM orders",
      "SELECT 'a",
      "SELECT 1 /* open",
      ";",
      "-- nothing",
    ])("%s", async (sql) => {
      const { message } = await failureOf(() => query(sql, contextFor({}, "postgres")));
      expect(message).not.toMatch(/root:|canary/);
      expect(await orders()).toBe(1000);
    });

    it("reads settings of the server", async () => {
      expect((await query("SELECT current_setting('work_mem') <> ''"))["rows"]).toEqual([[true]]);
    });

    it("calls functions that compute, also its own immutable ones", async () => {
      const sql =
        "SELECT twice(4), upper('a'), date_trunc('hour', now()) <= clock_timestamp(), jsonb_build_object('a', coalesce(NULL, 1)), count(*) FILTER (WHERE id > 5) FROM orders WHERE id IN (1, 9) AND note LIKE '%wipe()%' OR id = ANY (ARRAY[8])";
      expect((await query(sql))["rows"]).toEqual([[8, "A", true, { a: 1 }, 1]]);
    });

    it("reads columns and tables by dotted names, also those with a function's name", async () => {
      const sql =
        "SELECT o.state, o.date, o.age FROM (SELECT state, 1 AS date, 2 AS age FROM public.orders WHERE id = 1) o";
      expect((await query(sql))["rows"]).toEqual([["paid", 1, 2]]);
      await expect(query("SELECT (1).wipe_one", contextFor({}, "postgres"))).rejects.toThrow(
        /^Not allowed: wipe_one\. .*without a prefix\.$/,
      );
    });

    it("stops slow queries, and reads no answer of a hundred megabytes", async () => {
      const slow = query("SELECT count(*) FROM (SELECT generate_series(1, 100000000000)) AS n").catch(
        (error: Error) => error.message,
      );
      const cancel =
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'FETCH%' AND state = 'active'";
      while (!(await asOwner(async (client) => (await client.query(cancel)).rowCount)));
      expect(await slow).toMatch(/longer than 15 seconds and was canceled\. Use explain to see why/);
      const large = await failureOf(() => query("SELECT repeat('x', 100000000)"));
      expect(large.message).toMatch(/larger than 10 MB and was not read/);
    });

    it("ends its connection when the call is aborted", async () => {
      const controller = new AbortController();
      const context = { ...contextFor(), signal: controller.signal };
      const slow = query("SELECT count(*) FROM (SELECT generate_series(1, 100000000000)) AS n", context);
      const text = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'FETCH%' AND state = 'active'";
      const running = () => asOwner(async (client) => (await client.query(text)).rowCount);
      while (!(await running()));
      controller.abort(new Error("the run ended"));
      await expect(slow).rejects.toThrow("the run ended");
      await asOwner((client) => client.query(text.replace("pid", "pg_cancel_backend(pid)")));
    });
  });

  describe("reads no credentials of the server, even for a superuser", () => {
    it.each([
      "SELECT rolpassword FROM pg_authid",
      "SELECT passwd FROM pg_catalog.pg_shadow",
      "TABLE PG_AUTHID",
      'SELECT * FROM "pg_catalog" . "pg_authid"',
      'SELECT * FROM pg_catalog/* a */./* b */"pg_shadow"',
      'SELECT * FROM U&"pg\\005Fauthid"',
      "SELECT * FROM U&\"pg!005Fshadow\" UESCAPE '!'",
      "WITH a AS (SELECT * FROM pg_authid) SELECT to_jsonb(a) FROM a",
      "SELECT (SELECT rolpassword FROM pg_authid LIMIT 1)",
      "SELECT query_to_xml('SELECT * FROM pg_authid', true, true, '')",
      "SELECT table_to_xml('pg_authid'::regclass, true, true, '')",
      "SELECT * FROM pg_user_mapping",
      "SELECT * FROM pg_user_mappings",
      "SELECT option_value FROM information_schema.user_mapping_options",
      "SELECT * FROM pg_largeobject",
      "SELECT * FROM pg_hba_file_rules",
      "SELECT * FROM pg_hba_file_rules()",
      "SELECT * FROM pg_file_settings",
      "SELECT * FROM pg_show_all_file_settings()",
      "SELECT subconninfo FROM pg_subscription",
      "SELECT * FROM keys",
      'SELECT * FROM public."More Keys"',
      "SELECT * FROM kept_keys",
      "SELECT pg_read_binary_file('global/pg_filenode.map')",
      "SELECT lo_get(1)",
    ])("%s", async (sql) => {
      const { message } = await failureOf(() => query(sql, contextFor({}, "postgres")));
      expect(message).toMatch(/not (allowed|supported)/i);
      expect(message).not.toContain("SCRAM-SHA-256");
    });

    it("but lists the roles, without their passwords", async () => {
      const { rows } = await query(
        "SELECT rolpassword FROM members WHERE rolname = 'triage'",
        contextFor({}, "postgres"),
      );
      expect(rows).toEqual([["********"]]);
    });
  });

  describe("never shows a hidden column", () => {
    const hiding = () =>
      contextFor({
        POSTGRES_HIDDEN_COLUMNS: `users.email, *.password_hash, logins.email, ämter.email, visits_a.code, ${LONG}.email`,
      });

    it("in query results and in the description of its table, and reports that", async () => {
      expect(await query("SELECT * FROM users ORDER BY id", hiding())).toMatchObject({
        columns: ["id", "name", "payload", "settings"],
        never_shown: expect.arrayContaining(["public.users.email", "public.users.password_hash"]),
      });
      expect(await call("describe_table", { table: "users" }, hiding())).toMatchObject({
        columns: [{}, {}, { name: "email", never_shown: true }, { never_shown: true }, {}, {}],
      });
      expect(
        await query(
          "WITH RECURSIVE n AS (SELECT 1 AS i UNION SELECT i + 1 FROM n WHERE i < 2) SELECT i, u.name FROM n JOIN users u ON u.id = i ORDER BY 1",
          hiding(),
        ),
      ).toMatchObject({
        rows: [
          [1, "Ada"],
          [2, "Bob"],
        ],
      });
      expect(await query("WITH a AS (SELECT count(*) AS n FROM users) SELECT n FROM a", hiding())).toMatchObject({
        rows: [[2]],
      });
      expect((await query("SELECT email FROM users ORDER BY id", contextFor()))["rows"]).toContainEqual([
        "ada-hidden@example.com",
      ]);
    });

    it.each([
      ["SELECT 1 FROM users WHERE email LIKE 'ada%'", /column "email" does not exist/],
      ["DELETE FROM users WHERE email LIKE 'ada%'", /^Not allowed: a statement that changes/],
    ])("in the expected rows of a plan: %s", async (sql, reason) => {
      await expect(call("explain", { sql }, hiding())).rejects.toThrow(reason);
      expect(await call("explain", { sql: "SELECT name FROM users" }, hiding())).toHaveProperty("plan");
    });

    it.each([
      "SELECT attname, attmissingval FROM pg_attribute",
      "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef",
      "SELECT chunk_data FROM pg_toast.pg_toast_16384",
      "SELECT * FROM spread",
    ])("in the catalogs of the server: %s", async (sql) => {
      await expect(query(sql, hiding())).rejects.toThrow(/contains values of columns that are never shown/);
    });

    it.each([
      "SELECT email FROM users",
      "SELECT u.email FROM users u",
      "SELECT u FROM users u",
      "SELECT to_jsonb(u) FROM users u",
      "SELECT row_to_json(users) FROM users",
      "SELECT users::text FROM users",
      "SELECT json_agg(x) FROM (SELECT * FROM users) x",
      "SELECT x.c FROM users AS x(a, b, c, d, e, f)",
      "SELECT (u).* FROM users u",
      "TABLE users",
      "SELECT count(*) FROM users WHERE email LIKE 'a%'",
      "SELECT * FROM public.users",
      'SELECT * FROM "public"."users"',
      "SELECT * FROM public . users",
      "SELECT * FROM ONLY users",
      "WITH users AS (SELECT * FROM public.users) SELECT * FROM users",
      "SELECT * FROM (WITH x AS (SELECT * FROM users) SELECT * FROM x) y",
      "SELECT (SELECT string_agg(users::text, ',') FROM users)",
      "SELECT * FROM people",
      "SELECT contact FROM public.people",
      "SELECT * FROM more_people",
      "SELECT * FROM logins",
      "SELECT * FROM logins_first",
      "SELECT * FROM public.logins_first",
      "SELECT * FROM pg_stats WHERE tablename = 'users'",
      "SELECT most_common_vals FROM pg_catalog.pg_stats",
      "SELECT mails()",
      "SELECT * FROM visits",
      "SELECT * FROM all_visits",
      "SELECT (old).email FROM changes",
      "SELECT olds FROM changes",
      "SELECT * FROM changes",
      "SELECT * FROM USERS",
      "SELECT jsonb_path_query(to_jsonb(array_agg(users)), '$.**') FROM users",
      "SELECT * FROM Ämter",
      'SELECT * FROM "Ämter"',
      `SELECT * FROM ${LONG}456789`,
    ])("%s", async (sql) => {
      const told = await query(sql, hiding()).then(JSON.stringify, (error: Error) => error.message);
      expect(told).not.toMatch(/-hidden/);
    });

    it("of one partition, while those beside it are readable", async () => {
      expect((await query("SELECT code FROM visits_b", hiding()))["rows"]).toEqual([["code-shown"]]);
      expect((await query("SELECT id FROM changes", hiding()))["rows"]).toEqual([[1]]);
    });

    it("of one schema, while another's table of that name is readable", async () => {
      const context = contextFor({ POSTGRES_HIDDEN_COLUMNS: "audit.users.email" });
      expect(JSON.stringify(await query("SELECT email FROM users", context))).toContain("ada-hidden");
      await expect(query("SELECT * FROM audit.users", context)).rejects.toThrow(
        /audit\.users must be named without its schema/,
      );
      const wrong = contextFor({ POSTGRES_HIDDEN_COLUMNS: "email" });
      await expect(query("SELECT 1", wrong)).rejects.toThrow(/must list columns as table\.column/);
    });
  });

  describe("reports in words what is wrong, without the password", () => {
    const failing = async (config: Readonly<Record<string, string>>, parts: Partial<ToolContext> = {}) => {
      const { message } = await failureOf(() => call("list_queries", {}, { ...contextFor(config), ...parts }));
      expect(message).not.toContain(PASSWORD);
      expect(message).not.toContain(encodeURIComponent(PASSWORD));
      return message;
    };

    it("with POSTGRES_URL", async () => {
      expect(await failing({ POSTGRES_URL: "" })).toMatch(/POSTGRES_URL is not set/);
      expect(await failing({ POSTGRES_URL: "mysql://a:b@c/d" })).toMatch(/must be a postgres:\/\/ address/);
      expect(await failing({ POSTGRES_URL: at("triage", "?sslmode=sometimes") })).toMatch(
        /sslmode of POSTGRES_URL must be one of/,
      );
      expect(await failing({ POSTGRES_URL: at("triage", "?sslmode=require") })).toMatch(
        /does not support SSL.*its sslmode/,
      );
      expect(await failing({ POSTGRES_URL: at("triage").replace(/:\d+\//, ":1/") })).toMatch(
        /ECONNREFUSED\): connection refused/,
      );
      expect(await failing({ POSTGRES_URL: `${at("triage")}_other` })).toMatch(
        /database that POSTGRES_URL names does not exist/,
      );
      expect(await failing({ POSTGRES_URL: at("nobody_here") })).toMatch(/login failed/);
      const offline = { POSTGRES_URL: `postgres://a:${encodeURIComponent(PASSWORD)}@db.example/x` };
      expect(await failing(offline, { offline: true })).toMatch(/db\.example was not contacted: the run is offline/);
    });

    it("with an address that is not a Postgres server: a web page, silence, half an answer", async () => {
      const web = await startLoopback((_, response) => void response.end("<html>"));
      expect(await failing({ POSTGRES_URL: `postgres://a:b@${new URL(web.url).host}/x` })).toMatch(
        /Could not reach Postgres|SSL/,
      );
      await web.close();
      for (const said of [undefined, "N", "NR\0\0"]) {
        const server = createServer((socket) => {
          socket.on("error", () => undefined);
          if (said === undefined) return;
          socket.write(said.charAt(0));
          socket.once("data", () => socket.end(said.slice(1)));
        });
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
        const { port } = server.address() as { port: number };
        const controller = new AbortController();
        server.once(
          "connection",
          () => said === undefined && setImmediate(() => controller.abort(new Error("the call took too long"))),
        );
        const message = await failing(
          { POSTGRES_URL: `postgres://a:b@127.0.0.1:${port}/x` },
          { signal: controller.signal },
        );
        expect(message).toMatch(said === undefined ? /took too long/ : /Could not reach Postgres/);
        server.close();
      }
    });

    it("with a statement", async () => {
      await expect(query("SELECT * FROM nothing")).rejects.toThrow(/no such table or view\. list_tables.*42P01/);
      await expect(query("SELECT nothing FROM orders")).rejects.toThrow(/no such column\. describe_table.*42703/);
      await expect(query("SELEC 1")).rejects.toThrow(/refused the statement \(42601\): syntax error/);
    });
  });
});

if (!reason) {
  describeSkill(postgres, {
    config: () => ({ POSTGRES_URL: at("postgres") }),
    inputs: { ...INPUTS, query: { sql: "SELECT repeat('x é', 5000) FROM generate_series(1, 200)", limit: 200 } },
    flood: async (_request, response) => void response.end(),
    offline: postgres.tools.map((tool) => tool.name),
  });
}

it("splits statements as Postgres does, and removes their values", () => {
  expect(tokensOf('a."B""c" -- x\n /* y /* z */ */ E\'it\\\'s\' $q$;$q$ 1.5e3 $1').map(({ text }) => text)).toEqual([
    "a",
    ".",
    'B"c',
    "E'it\\'s'",
    "$q$;$q$",
    "1.5e3",
    "$",
    "1",
  ]);
  expect(withoutValues("SELECT  * FROM t WHERE a = 'x''y' AND b IN (1, 2, 3) AND c::text = \"D\".e")).toBe(
    'select * from t where a = ? and b in (?, …) and c::text = "D".e',
  );
  expect(withoutValues("SELECT 1 FROM t WHERE mail = 'cut off in the mid")).toBe("SELECT …");
});

it.each([
  ["query", { sql: "" }],
  ["query", { sql: "SELECT 1", limit: 5000 }],
  ["list_tables", { sort: "size; DROP TABLE x" }],
] as const)("%s refuses %o", (name, input) => {
  expect(fits(postgres.tools.find((tool) => tool.name === name)?.input_schema, input as JsonObject)).toBe(false);
});
