import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { gate, tablesOf } from "../../skills/betterstack/sql/gate.ts";
import { runsOf } from "../harness/long.ts";

const TABLES = tablesOf("t1_app");
const pass = (sql: string) => gate(sql, TABLES);

/** Queries that people write over logs, and the queries that are sent. */
const GOOD: readonly (readonly [string, string])[] = [
  ["SELECT dt, raw FROM logs", "SELECT dt, raw FROM remote(t1_app_logs) AS logs"],
  ["select * from spans s limit 5;", "select * from remote(t1_app_spans) s limit 5"],
  ['SELECT 1 AS "x y" FROM history AS h', 'SELECT 1 AS "x y" FROM s3Cluster(primary, t1_app_s3) AS h'],
  ["SELECT dt FROM t1_app_logs", "SELECT dt FROM remote(t1_app_logs) AS t1_app_logs"],
  [
    "SELECT countMerge(events_count) FROM metrics",
    "SELECT countMerge(events_count) FROM remote(t1_app_metrics) AS metrics",
  ],
  [
    "SELECT dt FROM logs WHERE dt > now() - INTERVAL 1 HOUR AND raw NOT LIKE '%x%' ORDER BY dt DESC LIMIT 5 OFFSET 2",
    "SELECT dt FROM remote(t1_app_logs) AS logs WHERE dt > now() - INTERVAL 1 HOUR AND raw NOT LIKE '%x%' ORDER BY dt DESC LIMIT 5 OFFSET 2",
  ],
  [
    "SELECT a, quantile(0.95)(toFloat64OrNull(b.1)) AS p, count() c FROM logs GROUP BY a HAVING c > 1",
    "SELECT a, quantile(0.95)(toFloat64OrNull(b.1)) AS p, count() c FROM remote(t1_app_logs) AS logs GROUP BY a HAVING c > 1",
  ],
  [
    "SELECT l.raw FROM logs AS l LEFT JOIN spans AS s ON l.id = s.id AND left(l.raw, 1) = '{' WHERE l.level IN ('error', 'it''s', -1, NULL)",
    "SELECT l.raw FROM remote(t1_app_logs) AS l LEFT JOIN remote(t1_app_spans) AS s ON l.id = s.id AND left(l.raw, 1) = '{' WHERE l.level IN ('error', 'it''s', -1, NULL)",
  ],
  [
    "SELECT dt FROM (SELECT dt FROM logs UNION ALL SELECT dt FROM history WHERE _row_type = 1) WHERE dt > (SELECT max(dt) FROM spans)",
    "SELECT dt FROM (SELECT dt FROM remote(t1_app_logs) AS logs UNION ALL SELECT dt FROM s3Cluster(primary, t1_app_s3) AS history WHERE _row_type = 1) WHERE dt > (SELECT max(dt) FROM remote(t1_app_spans) AS spans)",
  ],
  [
    "WITH a AS (SELECT id FROM logs), b AS (SELECT * FROM a) SELECT b.id FROM b JOIN a x USING (id) WHERE id IN (SELECT id FROM a)",
    "WITH skillflow_a AS (SELECT id FROM remote(t1_app_logs) AS logs), skillflow_b AS (SELECT * FROM skillflow_a AS a) SELECT b.id FROM skillflow_b AS b JOIN skillflow_a x USING (id) WHERE id IN (SELECT id FROM skillflow_a AS a)",
  ],
  [
    "SELECT arrayFilter(x -> x > 1, [1, 2])[1], CASE WHEN a THEN 'b' ELSE c::Nullable(String) END, row_number() OVER (PARTITION BY a ORDER BY b) FROM logs",
    "SELECT arrayFilter(x -> x > 1, [1, 2])[1], CASE WHEN a THEN 'b' ELSE c::Nullable(String) END, row_number() OVER (PARTITION BY a ORDER BY b) FROM remote(t1_app_logs) AS logs",
  ],
  [
    "SELECT cast(a AS Nullable(String)), '-- ; /* FROM url(' FROM logs",
    "SELECT cast(a AS Nullable(String)), '-- ; /* FROM url(' FROM remote(t1_app_logs) AS logs",
  ],
];

/** Each tries to read, write or reach something else. */
const HOSTILE: readonly (readonly [string, RegExp])[] = [
  ["", /SELECT was expected/],
  ["DROP TABLE logs", /SELECT was expected/],
  ["INSERT INTO logs SELECT 1", /SELECT was expected/],
  ["EXPLAIN SELECT 1 FROM logs", /SELECT was expected/],
  ["SELECT 1; DROP TABLE logs", /one statement/],
  ["SELECT 1;;", /one statement/],
  ["SELECT 1 FROM logs -- WHERE tenant = 1", /comments/],
  ["SELECT 1 FROM logs /* x */", /comments/],
  ["SELECT 1 FROM logs # x", /comments/],
  ["SELECT 1 FROM/**/system.tables", /comments/],
  ["SELECT * FROM system.tables", /cannot be queried/],
  ["SELECT * FROM system . tables", /cannot be queried/],
  ["SELECT * FROM logs.x", /cannot be queried/],
  ["SELECT * FROM `system.tables`", /a table was expected/],
  ['SELECT * FROM "system"."tables"', /a table was expected/],
  ["SELECT * FROM t1_app_LOGS", /cannot be queried/],
  ["SELECT * FROM t1_other_logs", /cannot be queried/],
  ["SELECT * FROM remote(t1_other_logs)", /table functions such as remote/],
  ["SELECT * FROM remote(t1_app_logs)", /table functions such as remote/],
  ["SELECT * FROM logs, system.tables", /not a comma/],
  ["SELECT * FROM logs l, numbers(9)", /not a comma/],
  ["SELECT * FROM (SELECT 1) x, system.tables", /not a comma/],
  ["SELECT * FROM logs JOIN spans ON 1 = 1, system.tables", /not a comma/],
  ["SELECT * FROM logs AS where, system.tables", /a name was expected/],
  ['SELECT * FROM logs AS "x", system.tables', /not a comma/],
  ["SELECT l.where, x FROM logs l JOIN spans s ON l.where, system.tables", /after the dot/],
  ["SELECT * FROM logs JOIN system.tables ON 1", /cannot be queried/],
  ["SELECT * FROM logs ARRAY JOIN x", /arrayJoin/],
  ["SELECT * FROM logs PASTE JOIN numbers(3)", /should end/],
  ["SELECT * FROM logs SETTINGS readonly = 0", /should end/],
  ["SELECT * FROM logs WHERE 1 SETTINGS readonly = 0", /SETTINGS is not allowed/],
  ["SELECT 1 FORMAT CSV", /FORMAT is not allowed/],
  ["SELECT * FROM logs FORMAT CSV", /should end/],
  ["SELECT * FROM logs INTO OUTFILE '/tmp/x'", /should end/],
  ["SELECT 1 INTO OUTFILE '/tmp/x'", /INTO is not allowed/],
  ["SELECT file('/etc/passwd')", /function file/],
  ["SELECT FILE ( '/etc/passwd' )", /function FILE/],
  ["SELECT `file`('/etc/passwd')", /not be quoted/],
  ["SELECT x.file('/etc/passwd')", /not contain a dot/],
  ["SELECT * APPLY(file) FROM logs", /APPLY/],
  ["SELECT * APPLY file FROM logs", /APPLY/],
  ["SELECT dictGet('d', 'a', 1)", /function dictGet/],
  ["SELECT joinGet('db.t', 'a', 1)", /function joinGet/],
  ["SELECT hasColumnInTable('system', 'one', 'x')", /function hasColumnInTable/],
  ["SELECT getSetting('x'), currentUser()", /function getSetting/],
  ["SELECT sleepEachRow(3) FROM logs", /function sleepEachRow/],
  ["SELECT 1 AS url('http://x')", /function url/],
  ["SELECT 1 IN system.one", /after IN/],
  ["SELECT 1 IN (system.one)", /after IN/],
  ["SELECT 1 IN ((system.one))", /after IN/],
  ["SELECT 1 IN numbers(3)", /after IN/],
  ["SELECT 1 IN (null('x'))", /after IN/],
  ["SELECT in(1, system.one)", /after IN/],
  ["SELECT notIn(1, system.one)", /function notIn/],
  ["SELECT 1 GLOBAL IN (SELECT 1)", /GLOBAL/],
  ["SELECT * FROM (EXPLAIN SELECT 1)", /SELECT was expected/],
  ["SELECT * FROM (SHOW TABLES)", /SELECT was expected/],
  ["SELECT * FROM (system.tables)", /SELECT was expected/],
  ["SELECT EXISTS (SELECT * FROM system.tables)", /cannot be queried/],
  ["SELECT (SELECT * FROM system.tables)", /cannot be queried/],
  ["SELECT [(SELECT * FROM system.tables)]", /cannot be queried/],
  ["SELECT count((SELECT * FROM system.tables))", /cannot be queried/],
  ["SELECT 1 UNION ALL SELECT * FROM system.tables", /cannot be queried/],
  ["SELECT 1 UNION SELECT 2", /UNION ALL/],
  ["SELECT 1 EXCEPT SELECT 2", /EXCEPT/],
  ["WITH users AS (SELECT * FROM users) SELECT * FROM users", /users cannot be queried/],
  ["SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) JOIN a ON 1", /a cannot be queried/],
  ["WITH logs AS (SELECT 1) SELECT * FROM logs", /the name of a table/],
  ["WITH a AS (SELECT 1) INSERT INTO logs SELECT 1", /SELECT was expected/],
  ["WITH RECURSIVE a AS (SELECT 1) SELECT * FROM a", /a name was expected/],
  ["SELECT 1 PARALLEL WITH SELECT 2", /PARALLEL/],
  ["SELECT {x:Identifier}", /parameters/],
  ["SELECT @@version", /parameters/],
  ["SELECT $$x$$", /parameters/],
  ["SELECT 1 \\G", /parameters/],
  ["SELECT 'a", /not closed/],
  ["SELECT 'a\\' FROM system.tables", /not closed/],
  ["SELECT 'a\u0000'", /control character/],
  ["SELECT \u2018a\u2019", /unexpected character/],
  ["SELECT 1\u00a0FROM logs", /unexpected character/],
  ['SELECT "a""b" FROM logs', /must not contain a quote/],
  ["SELECT `a\\`b` FROM logs", /quoted name/],
  [`SELECT ${"(".repeat(200)}1${")".repeat(200)}`, /nested too deeply/],
  ["SELECT (1", /\) was expected/],
  ["SELECT 1)", /should end/],
  ["SELECT (1]", /\) was expected/],
];

describe("the gate before Better Stack's SQL API", () => {
  it.each(GOOD)("accepts %s", (sql, sent) => {
    expect(pass(sql)).toBe(sent);
    expect(faultsOf(sent)).toEqual([]);
  });

  it.each(HOSTILE)("refuses %s", (sql, why) => {
    expect(() => pass(sql)).toThrow(why);
    expect(() => pass(sql)).toThrow(/^The query is refused at character \d+/);
  });

  it("leaves every text unchanged, whatever it contains", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 60 }).filter((value) => !/\p{Cc}/u.test(value));
    const spelt = fc.tuple(text, fc.boolean()).map(([value, doubled]) => {
      return `'${value.replaceAll("\\", "\\\\").replaceAll("'", doubled ? "''" : "\\'")}'`;
    });
    fc.assert(
      fc.property(spelt, (literal) => {
        expect(pass(`SELECT ${literal} FROM logs`)).toBe(`SELECT ${literal} FROM remote(t1_app_logs) AS logs`);
      }),
      { numRuns: runsOf(2000) },
    );
  });

  it("rejects every table function and reading function, in any place and any spelling", () => {
    const call = fc
      .tuple(
        fc.constantFrom(...READING),
        fc.constantFrom("", " ", "\n", "\t"),
        fc.constantFrom("'x'", "1", "x, 'y'", ""),
      )
      .chain(([name, space, args]) => spelling(name).map((spelt) => `${spelt}${space}(${args})`));
    fc.assert(
      fc.property(call, fc.constantFrom(...PLACES), (reading, place) => {
        expect(() => pass(place.replace("?", () => reading))).toThrow(/^The query is refused/);
      }),
      { numRuns: runsOf(5000) },
    );
  });

  it("reads no tables but the declared ones, in any place of a query", () => {
    const part = fc.stringMatching(/^[a-z_][a-z0-9_]{0,8}$/);
    const name = fc
      .tuple(part, part)
      .chain(([a, b]) => fc.constantFrom(a, `${a}.${b}`, `\`${a}\``, `"${a}"."${b}"`, `${a}_logs`));
    fc.assert(
      fc.property(
        name.filter((table) => !TABLES.has(table)),
        fc.constantFrom(...PLACES.filter((place) => /(FROM|JOIN|IN) \?/.test(place))),
        (table, place) => {
          expect(() => pass(place.replace("?", table))).toThrow(/^The query is refused/);
        },
      ),
      { numRuns: runsOf(3000) },
    );
  });

  it("sends nothing that reads elsewhere, however a valid query is mutated", () => {
    let passed = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...GOOD.map(([sql]) => sql)),
        fc.array(edit, { minLength: 1, maxLength: 3 }),
        (sql, edits) => {
          const sent = sentFor(edits.reduce(applied, sql));
          if (sent === undefined) return;
          passed++;
          expect(faultsOf(sent)).toEqual([]);
        },
      ),
      { numRuns: runsOf(20_000) },
    );
    expect(passed).toBeGreaterThan(runsOf(500));
  });

  it("sends nothing that reads elsewhere, for any sequence of words", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 14 }), (pieces) => {
        const sent = sentFor(`SELECT ${pieces.join(" ")}`);
        if (sent !== undefined) expect(faultsOf(sent)).toEqual([]);
      }),
      { numRuns: runsOf(20_000) },
    );
  });
});

/** Functions that read files, tables, addresses, dictionaries or the server itself. */
const READING = (
  "url file remote remoteSecure s3 s3Cluster gcs hdfs hdfsCluster azureBlobStorage mysql postgresql sqlite mongodb redis " +
  "jdbc odbc iceberg deltaLake hudi cluster clusterAllReplicas merge view viewIfPermitted input values numbers " +
  "numbers_mt zeros generateRandom generateSeries null executable dictionary loop fuzzQuery fuzzJSON urlCluster " +
  "fileCluster mergeTreeIndex timeSeriesData dictGet dictGetOrDefault dictGetOrNull dictHas dictGetHierarchy dictIsIn " +
  "joinGet joinGetOrNull hasColumnInTable getSetting getMacro getServerPort getOSKernelVersion hostName serverUUID " +
  "currentUser currentDatabase user version uptime tcpPort filesystemAvailable filesystemCapacity sleep sleepEachRow " +
  "catboostEvaluate modelEvaluate initializeAggregation arrayReduce runningAccumulate throwIf addressToLine " +
  "addressToSymbol demangle showCertificate transactionID queryID structureToProtobufSchema notIn globalIn nullIn"
).split(" ");

const PLACES = [
  "SELECT * FROM ?",
  "SELECT ?",
  "SELECT 1, ? AS x FROM logs",
  "SELECT * FROM logs JOIN ? ON 1 = 1",
  "SELECT * FROM logs AS l LEFT JOIN ? AS r USING (id)",
  "SELECT * FROM logs, ?",
  "SELECT * FROM logs WHERE x IN ?",
  "SELECT * FROM logs WHERE x IN (?)",
  "SELECT * FROM logs WHERE x IN (1, ?)",
  "SELECT * FROM logs WHERE x NOT IN (SELECT y FROM ?)",
  "SELECT * FROM (SELECT * FROM ?)",
  "WITH a AS (SELECT * FROM ?) SELECT * FROM a",
  "SELECT 1 FROM logs UNION ALL SELECT * FROM ?",
  "SELECT * FROM logs WHERE EXISTS (SELECT 1 FROM ?)",
  "SELECT count((SELECT 1 FROM ?)) FROM logs",
  "SELECT arrayMap(x -> (SELECT 1 FROM ?), [1]) FROM logs",
  "SELECT * FROM logs ORDER BY (SELECT 1 FROM ?)",
  "SELECT * FROM logs LIMIT (SELECT 1 FROM ?)",
  "SELECT a[(SELECT 1 FROM ?)] FROM logs",
].filter((place) => place.includes("?"));

const PIECES = [
  ..."SELECT FROM JOIN LEFT ARRAY ON USING WHERE GROUP BY ORDER LIMIT HAVING UNION ALL WITH AS IN NOT AND".split(" "),
  ..."INTO OUTFILE FORMAT SETTINGS FINAL GLOBAL APPLY OVER CASE WHEN END INTERVAL EXISTS DISTINCT EXCEPT".split(" "),
  ..."( ) ( ) , , . * = 1 'a' ' '' \\ ; -- /* */ # { } :: -> \" ` @ $$ [ ] x l a".split(" "),
  ..."logs spans history t1_app_logs system.tables system one count( lower( url( file( remote( in( left( any( where from".split(
    " ",
  ),
  "(SELECT 1 FROM logs)",
  "FROM logs",
  "AS x",
  "AS where",
  ...Array.from({ length: 4 }, () => ", system.tables"),
  "l.where",
  "IN (1)",
  "IN (x)",
  '"where"',
  "`url`(",
];

interface Edit {
  readonly kind: "insert" | "replace" | "remove" | "cut";
  readonly place: number;
  readonly piece: string;
}

/** Fragments that fit in many places, so that enough attempts are still valid queries. */
const MILD = [
  "x",
  "",
  "1",
  ", a",
  "AND a",
  "- 1",
  "AS b",
  "(a)",
  "(SELECT 1)",
  "JOIN spans ON a = b",
  "WHERE a",
  "IN (1)",
];

const edit: fc.Arbitrary<Edit> = fc.record({
  kind: fc.constantFrom("insert", "insert", "insert", "replace", "remove", "cut"),
  place: fc.integer({ min: 0, max: 999 }).map((thousandths) => thousandths / 1000),
  piece: fc.oneof(fc.constantFrom(...MILD), fc.constantFrom(...PIECES)),
});

function applied(sql: string, { kind, place, piece }: Edit): string {
  if (kind === "cut") return sql.slice(0, Math.floor(place * sql.length)) + piece;
  const parts = sql.split(/(?<=[\s(),])|(?=[\s(),])/);
  parts.splice(Math.floor(place * parts.length), kind === "insert" ? 0 : 1, kind === "remove" ? "" : ` ${piece} `);
  return parts.join("");
}

function spelling(name: string): fc.Arbitrary<string> {
  const mixed = fc.array(fc.boolean(), { minLength: name.length, maxLength: name.length });
  const cased = mixed.map((raised) => [...name].map((c, i) => (raised[i] ? c.toUpperCase() : c)).join(""));
  return fc.oneof(fc.constant(name), cased, fc.constant(`\`${name}\``), fc.constant(`"${name}"`));
}

function sentFor(sql: string): string | undefined {
  try {
    return pass(sql);
  } catch (error) {
    expect(String(error)).toMatch(/The query is refused at character/);
    return undefined;
  }
}

/**
 * The parts of a sent query that would read from elsewhere. Written independently of the gate, and in another way: it
 * knows no grammar, only what must not occur where.
 */
function faultsOf(sent: string): string[] {
  const bare = withoutTexts(sent).replaceAll(
    /remote\(t1_app_(?:logs|spans|metrics)\)|s3Cluster\(primary, t1_app_s3\)/g,
    " TABLE_ ",
  );
  const faults = [/--|\/\*|[#;{}$@\\?`"]/, /\b(?:INTO|OUTFILE|SETTINGS|FORMAT|APPLY|GLOBAL)\b(?!\s*")/i]
    .filter((pattern) => pattern.test(bare))
    .map((pattern) => `${pattern} in ${bare}`);
  for (const [, name = ""] of bare.matchAll(/([A-Za-z_]\w*)\s*\(/g)) {
    if (READING.some((reading) => reading.toLowerCase() === name.toLowerCase())) faults.push(`calls ${name}: ${bare}`);
  }
  for (const [, word, next = ""] of bare.matchAll(/\b(FROM|JOIN|IN)\b\s*(\w+|.|$)/gi)) {
    const isOwn = next === "TABLE_" || next.startsWith("skillflow_");
    if (next !== "(" && !(isOwn && word?.toUpperCase() !== "IN")) faults.push(`${word} ${next}: ${bare}`);
  }
  for (const [, inside = ""] of bare.matchAll(/\bIN\s*\(([^()]*)\)/gi)) {
    if (
      !/^\s*(?:SELECT|WITH)\b/i.test(inside) &&
      /(?!(?:null|true|false)\b)\b[a-z_]\w*/i.test(inside.replaceAll(/\be[+-]?\d/gi, ""))
    ) {
      faults.push(`IN (${inside}): ${bare}`);
    }
  }
  return [...faults, ...commaJoins(bare)];
}

const CLAUSE = /^(?:WHERE|PREWHERE|GROUP|HAVING|ORDER|LIMIT|OFFSET|UNION|SELECT)$/i;

/** A comma between FROM and the next clause, or a word of the language used as a name to hide one. */
function commaJoins(bare: string): string[] {
  const faults: string[] = [];
  const frames = [{ inFrom: false }];
  let before = "";
  for (const [token] of bare.matchAll(/\w+|[^\s\w]/g)) {
    const frame = frames.at(-1);
    const isWord = CLAUSE.test(token) || /^(?:FROM|JOIN|ON)$/i.test(token);
    if (isWord && /^(?:AS|\.)$/i.test(before)) faults.push(`${before} ${token}: ${bare}`);
    if (/[([]/.test(token)) frames.push({ inFrom: false });
    else if (/[)\]]/.test(token)) frames.pop();
    else if (frame && /^FROM$/i.test(token)) frame.inFrom = true;
    else if (frame && CLAUSE.test(token)) frame.inFrom = false;
    else if (frame?.inFrom && token === ",") faults.push(`a comma after FROM: ${bare}`);
    before = token;
  }
  return frames.length === 1 ? faults : [...faults, `brackets: ${bare}`];
}

/** The query with each text as `0` and each quoted name as `q_`, read character by character. */
function withoutTexts(sql: string): string {
  let bare = "";
  for (let at = 0; at < sql.length; at++) {
    const open = sql[at] ?? "";
    if (!"'\"`".includes(open)) {
      bare += open;
      continue;
    }
    for (at++; at < sql.length; at++) {
      if (sql[at] === "\\") at++;
      else if (sql[at] === open && sql[at + 1] === open) at++;
      else if (sql[at] === open) break;
    }
    bare += open === "'" ? " 0 " : " q_ ";
  }
  return bare;
}
