import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import type { JsonObject, ToolContext } from "skillflow";
import { type Loopback, type LoopbackHandler, sendJson, startLoopback, toolContext } from "skillflow/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import supabase from "../../skills/supabase/skill.ts";
import { callTool, describeSkill, failureOf, fits } from "../contracts/skill.ts";
import { LONG as LONG_FORM } from "../harness/long.ts";
import { type Database, startDatabase, whyNoDatabase } from "../services/postgrest.ts";

const KEY = "sb_secret_canary0123456789";
const ACCESS_TOKEN = "sbp_canary0123456789abcdef";
const INPUTS: Readonly<Record<string, JsonObject>> = {
  query: {
    table: "incidents",
    select: "id,title,code:payload->>code",
    where: [{ column: "status", op: "eq", value: "open" }],
    any_of: [
      { column: "severity", op: "lte", value: 2 },
      { column: "tags", op: "contains", value: ["urgent"] },
    ],
    order: [{ column: "opened_at", descending: true }],
    limit: 100,
    total: true,
  },
  count: { table: "public.incidents", where: [{ column: "closed_at", op: "is", value: null }] },
  insert: { table: "incidents", rows: [{ title: "x" }], unless_exists: ["title"] },
  update: {
    table: "incidents",
    set: { status: "closed" },
    where: [{ column: "id", op: "in", value: [1, 2] }],
  },
  delete: { table: "incidents", where: [{ column: "id", op: "eq", value: 1 }], max_rows: 5 },
  rpc: { function: "open_count", args: { service: "checkout" } },
  group: { table: "incidents", by: ["status"], measure: "max", of: "severity" },
  list_tables: { limit: 200 },
  describe_table: { table: "incidents" },
};
/** Answers of Supabase itself, in addition to the database. */
const MANAGEMENT: Readonly<Record<string, JsonObject>> = {
  service_logs: {
    service: "database",
    contains: "it's a \\ timeout",
    from: "2026-01-31T08:00:00Z",
    to: "2026-01-31T09:00:00Z",
    limit: 2,
  },
  list_migrations: { limit: 2 },
  list_advisories: { kind: "performance", limit: 2 },
};
const NAMES = Object.keys(INPUTS);
const WRITES = ["insert", "update", "delete", "rpc"];

function configFor(url: string): Record<string, string> {
  return {
    SUPABASE_URL: url,
    SUPABASE_SERVICE_ROLE_KEY: KEY,
    SUPABASE_TABLES: "incidents",
    SUPABASE_FUNCTIONS: "open_count",
    SUPABASE_ACCESS_TOKEN: ACCESS_TOKEN,
    SUPABASE_PROJECT: "abcdefgh",
    SUPABASE_MANAGEMENT_URL: url,
  };
}

function call(
  name: string,
  context: ToolContext,
  input: JsonObject = INPUTS[name] ?? MANAGEMENT[name] ?? {},
): Promise<JsonObject> {
  return callTool(supabase, name, input, context) as Promise<JsonObject>;
}

const missing = whyNoDatabase();
if (missing) process.stderr.write(`supabase against PostgREST: skipped, since ${missing}.\n`);

describe.skipIf(missing)("on a real PostgREST", () => {
  const TABLES = "incidents, open_incidents, services, notes, links, texts, numbers, wide, ops.runbooks";
  const FUNCTIONS = "open_count, incidents_of, series, merge_doc, quiet, refuse, gone";
  let database: Database;
  beforeAll(async () => {
    const sql = readFileSync(new URL("../services/supabase.sql", import.meta.url), "utf8");
    database = await startDatabase(sql, ["public", "ops"]);
  });
  afterAll(() => database?.stop());

  const contextFor = (parts: Record<string, string> = {}, role = "service_role") =>
    toolContext({
      config: {
        SUPABASE_URL: database.url,
        SUPABASE_SERVICE_ROLE_KEY: database.keyFor(role),
        SUPABASE_TABLES: TABLES,
        SUPABASE_FUNCTIONS: FUNCTIONS,
        ...parts,
      },
    });
  const use = (name: string, input: JsonObject, parts?: Record<string, string>, role?: string) =>
    call(name, contextFor(parts, role), input);
  const fails = (name: string, input: JsonObject, parts?: Record<string, string>, role?: string) =>
    failureOf(() => use(name, input, parts, role)).then((error) => error.message);
  const idsOf = (result: JsonObject) => (result["rows"] as JsonObject[]).map((row) => row["id"]);

  /** PostgREST's own answer to the service role, without the skill. */
  const raw = async (path: string, init: RequestInit = {}) => {
    const key = database.keyFor("service_role");
    const headers = {
      apikey: key,
      authorization: `Bearer ${key}`,
      prefer: "return=representation",
      "content-type": "application/json",
    };
    return (await fetch(`${database.url}/rest/v1${path}`, { ...init, headers })).json() as Promise<JsonObject[]>;
  };
  const requestsDuring = async (work: () => Promise<unknown>) => {
    const before = database.requests.length;
    await work();
    return database.requests.length - before;
  };

  describe("query", () => {
    it.each<[string, JsonObject, number[]]>([
      ["eq", { column: "severity", op: "eq", value: 2 }, [2]],
      ["neq", { column: "status", op: "neq", value: "open" }, [3, 4]],
      ["gt", { column: "opened_at", op: "gt", value: "2026-01-02T00:00:00Z" }, [2, 3]],
      ["lte", { column: "severity", op: "lte", value: 2 }, [1, 2]],
      ["like", { column: "title", op: "like", value: "Checkout*" }, [1, 2]],
      ["ilike", { column: "title", op: "ilike", value: "%STALE" }, [3]],
      ["in", { column: "title", op: "in", value: ["Nobody knows", 'Search "misses", \\ more'] }, [4, 5]],
      ["not_in", { column: "id", op: "not_in", value: [1, 2, 3] }, [4, 5]],
      ["is null", { column: "service_id", op: "is", value: null }, [5]],
      ["is_not null", { column: "payload", op: "is_not", value: null }, [1, 2]],
      ["is false", { column: "active", op: "is", value: false }, [3, 4]],
      ["contains in an array", { column: "tags", op: "contains", value: ["db", "urgent"] }, [1]],
      ["contains with a comma", { column: "tags", op: "contains", value: ["a,b"] }, [5]],
      ["contains in json", { column: "payload", op: "contains", value: '{"error": {"code": "E7"}}' }, [2]],
      ["search", { column: "notes", op: "search", value: "timeout pool" }, [1]],
      ["a path", { column: "payload->error->>code", op: "eq", value: "E42" }, [1]],
      ["a path with a space", { column: 'payload->>"a b"', op: "eq", value: "x" }, [1]],
      ["a path by number", { column: "payload->list->>-1", op: "eq", value: 8 }, [1]],
      ["a column called order", { column: "order", op: "eq", value: "second" }, [2]],
      ["a column with dots and brackets", { column: '"odd.name, (really)"', op: "eq", value: "odd" }, [1]],
      ["a text with every sign", { column: "notes", op: "eq", value: 'reindexed 100% (twice), "fully"' }, [3]],
    ])("finds rows by %s", async (_what, condition, ids) => {
      const result = await use("query", { table: "incidents", select: "id", where: [condition] });
      expect(idsOf(result)).toEqual(ids);
      expect((await use("count", { table: "incidents", where: [condition] }))["count"]).toBe(ids.length);
    });

    it("requires all of where and one of any_of", async () => {
      const any_of = [
        { column: "severity", op: "eq", value: 1 },
        { column: "severity", op: "eq", value: 4 },
      ];
      const where = [{ column: "status", op: "eq", value: "open" }];
      expect(idsOf(await use("query", { table: "incidents", where, any_of }))).toEqual([1]);
      expect(await use("count", { table: "incidents", any_of })).toEqual({ count: 2, method: "exact" });
    });

    it("returns the chosen columns, under their names", async () => {
      const select = 'n:id::text, code:payload->error->>code, "odd.name, (really)", service_id';
      const where = [{ column: "id", op: "eq", value: 1 }];
      const result = await use("query", { table: "incidents", select, where });
      expect(result["rows"]).toEqual([{ n: "1", code: "E42", "odd.name, (really)": "odd", service_id: 1 }]);
    });

    it("returns numbers beyond JavaScript's range as text", async () => {
      const result = await use("query", { table: "numbers", select: "big::text,amount" });
      expect(result["rows"]).toEqual([
        { big: "9007199254740993", amount: 0.1 },
        { big: "-5", amount: 12345.678 },
      ]);
    });

    it("sorts with empty values last, and counts on request", async () => {
      const order: JsonObject[] = [{ column: "opened_at", descending: true }, { column: "id" }];
      const result = await use("query", { table: "incidents", select: "id", order, total: true, limit: 4 });
      expect(result).toEqual({ rows: [{ id: 3 }, { id: 2 }, { id: 1 }, { id: 4 }], total: 5, next_offset: 4 });
    });

    it("pages through every row once, though pages are cut to what fits", async () => {
      const seen: unknown[] = [];
      let offset: unknown = 0;
      while (offset !== undefined && seen.length < 100) {
        const page: JsonObject = await use("query", {
          table: "wide",
          order: [{ column: "id" }],
          limit: 40,
          offset: offset as number,
        });
        expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(20_000);
        seen.push(...idsOf(page));
        offset = page["next_offset"];
      }
      expect(seen).toEqual(Array.from({ length: 60 }, (_, at) => at + 1));
    });

    it("reports that an offset is beyond the end", async () => {
      const message = await fails("query", { table: "incidents", offset: 50, total: true });
      expect(message).toMatch(/PGRST103.*only 5 rows.*beyond the last row/);
    });

    it("reads views, and other schemas by name", async () => {
      expect((await use("count", { table: "open_incidents" }))["count"]).toBe(3);
      const result = await use("query", { table: "ops.runbooks" });
      expect(result["rows"]).toEqual([{ id: 1, title: "Restart the pool" }]);
      expect(
        (await use("count", { table: "runbooks" }, { SUPABASE_SCHEMA: "ops", SUPABASE_TABLES: "" }))["count"],
      ).toBe(1);
    });

    it("finds a text by its exact value, whatever it is", async () => {
      const text = fc
        .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
        .filter((found) => !found.includes("\0"));
      const grammar = fc.array(
        fc.constantFrom('"', "\\", ",", "(", ")", "{", "}", ".", "*", "%", "&", "=", "+", "#", " "),
        {
          minLength: 1,
          maxLength: 8,
        },
      );
      const body = fc.oneof(
        text,
        grammar.map((signs) => signs.join("")),
      );
      await fc.assert(
        fc.asyncProperty(fc.uniqueArray(body, { minLength: 2, maxLength: 6 }), async (bodies) => {
          const rows = bodies.map((body) => ({ body }));
          await use("insert", { table: "texts", rows, unless_exists: ["body"] });
          const [first = ""] = bodies;
          const one = await use("query", { table: "texts", where: [{ column: "body", op: "eq", value: first }] });
          expect((one["rows"] as JsonObject[]).map((row) => row["body"])).toEqual([first]);
          const all = await use("query", { table: "texts", where: [{ column: "body", op: "in", value: bodies }] });
          expect(new Set((all["rows"] as JsonObject[]).map((row) => row["body"]))).toEqual(new Set(bodies));
        }),
        { numRuns: LONG_FORM ? 40 : 15 },
      );
    });
  });

  describe("the lists", () => {
    const LEAKS = [
      "*,secrets(*)",
      "id,x:secrets!inner(value)",
      "id,...secrets(*)",
      'id,"secrets"(value)',
      "id,secrets!secrets_incident_id_fkey(*)",
    ];

    it("are needed: PostgREST itself returns related rows", async () => {
      const leaked = await raw("/incidents?select=*,secrets(*)&id=eq.1");
      expect(JSON.stringify(leaked)).toContain("the canary of the secrets");
      // Here `notes` is a foreign key that refers to another table than the listed one of that name.
      expect(JSON.stringify(await raw("/links?select=notes(*)"))).toContain("the canary of the secrets");
    });

    it.each([...LEAKS, "notes(*)", "x:notes(body)"])("are not bypassed by selecting %s", async (select) => {
      const requests = await requestsDuring(async () => {
        expect(await fails("query", { table: "incidents", select })).toMatch(/Query them separately/);
        expect(await fails("query", { table: "links", select }, { SUPABASE_TABLES: "" })).toMatch(/does not name/);
      });
      expect(requests).toBe(0);
    });

    it.each(["secrets.value", "secrets.and", "or", '"secrets.value"', '"secrets(value)"', '"or"', '"*,secrets(*)"'])(
      "are not bypassed by a condition on or an order by %s",
      async (column) => {
        const where = [{ column, op: "eq", value: "the canary of the secrets" }];
        expect(await fails("query", { table: "incidents", where })).toMatch(/does not name columns|42703/);
        expect(await fails("query", { table: "incidents", order: [{ column }] })).toMatch(
          /does not name columns|42703/,
        );
        const any_of = [...where, { column: "id", op: "eq", value: 1 }];
        expect(await fails("query", { table: "incidents", any_of })).toMatch(/does not name columns|42703/);
      },
    );

    it.each<[string, JsonObject]>([
      ["query", { table: "secrets" }],
      ["query", { table: "ops.secrets" }],
      ["count", { table: "secrets" }],
      ["describe_table", { table: "secrets" }],
      ["insert", { table: "secrets", rows: [{ value: "x" }] }],
      ["update", { table: "secrets", set: { value: "x" }, where: [{ column: "id", op: "eq", value: 1 }] }],
      ["delete", { table: "secrets", where: [{ column: "id", op: "eq", value: 1 }] }],
      ["rpc", { function: "forget_all" }],
      ["rpc", { function: "escalate" }],
    ])("hide %s from what is not on them, without a request", async (name, input) => {
      const requests = await requestsDuring(async () => {
        expect(await fails(name, input)).toMatch(/is not in SUPABASE_(TABLES|FUNCTIONS)/);
      });
      expect(requests).toBe(0);
    });

    it("allow reading everything and changing nothing when they are not set", async () => {
      const none = { SUPABASE_TABLES: "", SUPABASE_FUNCTIONS: "" };
      expect((await use("count", { table: "ops.secrets" }, none))["count"]).toBe(1);
      const where = [{ column: "id", op: "eq", value: 1 }];
      expect(await fails("delete", { table: "notes", where }, none)).toMatch(
        /is read-only: SUPABASE_TABLES is not set/,
      );
      expect(await fails("rpc", { function: "open_count" }, none)).toMatch(/SUPABASE_FUNCTIONS is not set/);
    });

    it("treat a function of the row as a column of its table when reading, where it cannot write", async () => {
      const texts = await raw("/texts?select=id");
      expect(await fails("query", { table: "incidents", select: "id,escalate" })).toMatch(/25006.*only reading/);
      expect(await fails("query", { table: "incidents", order: [{ column: "escalate" }] })).toMatch(/25006/);
      expect(await raw("/texts?select=id")).toEqual(texts);
    });

    it("are shown in list_tables and describe_table", async () => {
      const listed = await use("list_tables", { contains: "IN" });
      expect(listed).toMatchObject({ schema: "public", total: 3, functions: [{ function: "incidents_of" }] });
      const names = (listed["tables"] as JsonObject[]).map((each) => each["table"]);
      expect([...names].sort()).toEqual(["incidents", "links", "open_incidents"]);
      expect(JSON.stringify(await use("list_tables", {}))).not.toMatch(/secrets|forget_all|escalate/);
      const ops = await use("list_tables", { schema: "ops" });
      expect(ops["tables"]).toEqual([{ table: "ops.runbooks", columns: 2, writable: true }]);
      const open = await use("list_tables", { limit: 2 }, { SUPABASE_TABLES: "" });
      expect(open).toMatchObject({ total: 9, next_offset: 2, tables: [{ writable: false }, { writable: false }] });
    });
  });

  describe("describe_table", () => {
    it("describes types, keys, references and comments", async () => {
      const described = await use("describe_table", { table: "incidents" });
      expect(described).toMatchObject({ table: "incidents", description: "What went wrong.", writable: true });
      const columns = described["columns"] as JsonObject[];
      const column = (name: string) => columns.find((each) => each["name"] === name);
      expect(column("id")).toMatchObject({ type: "bigint", required: true, primary_key: true });
      expect(column("service_id")).toEqual({ name: "service_id", type: "integer", references: "services.id" });
      expect(column("severity")).toMatchObject({ default: 3, description: "One is worst." });
      expect(column("status")).toMatchObject({ max_length: 12 });
      expect(column("odd.name, (really)")).toMatchObject({ type: "text" });
    });

    it("describes functions and their parameters", async () => {
      const listed = await use("list_tables", { contains: "incidents_of" });
      expect(listed["functions"]).toEqual([
        { function: "incidents_of", parameters: { service: "text", worst: "integer, optional" } },
      ]);
    });

    it.each(["describe_table", "query"])("%s suggests tables with a similar name", async (name) => {
      const parts = { SUPABASE_TABLES: "" };
      expect(await fails(name, { table: "incident" }, parts)).toMatch(/Did you mean incidents/);
      expect(await fails(name, { table: "incidnts" }, { SUPABASE_TABLES: "incidnts" })).not.toMatch(/Is it/);
    });
  });

  describe("group", () => {
    it.each<[string, JsonObject, JsonObject[]]>([
      ["by a column", { by: ["status"] }, [{ status: "open", count: 3 }]],
      [
        "by a path into json",
        { by: ["payload->error->>code"], where: [{ column: "payload", op: "is_not", value: null }] },
        [],
      ],
      ["by a measure", { by: ["active"], measure: "min", of: "severity" }, []],
    ])("counts rows %s", async (_what, input, some) => {
      const result = await use("group", { table: "incidents", ...input });
      expect(result["groups"]).toEqual(expect.arrayContaining(some));
      expect((result["groups"] as JsonObject[]).length).toBe(result["groups_total"]);
      expect(result["groups_total"]).toBeGreaterThan(0);
    });

    it("uses only listed tables, and columns", async () => {
      expect(await fails("group", { table: "secrets", by: ["value"] })).toMatch(/is not in SUPABASE_TABLES/);
      expect(await fails("group", { table: "incidents", by: ["secrets(value)"] })).toMatch(/does not name columns/);
    });
  });

  describe("insert", () => {
    it("stores rows with their defaults and returns them", async () => {
      const rows: JsonObject[] = [
        { title: "New 1", payload: { a: [1] } },
        { title: "New 2", tags: ["x", "y,z"], severity: 1 },
      ];
      const result = await use("insert", { table: "incidents", rows });
      expect(result).toMatchObject({
        inserted: 2,
        rows: [
          { title: "New 1", severity: 3, payload: { a: [1] }, active: true },
          { title: "New 2", severity: 1, payload: null, tags: ["x", "y,z"] },
        ],
      });
    });

    it("leaves rows with an existing key unchanged, so that it can be repeated", async () => {
      const rows = [{ body: "once" }, { body: "twice" }];
      const input = { table: "texts", rows, unless_exists: ["body"] };
      expect(await use("insert", input)).toMatchObject({ inserted: 2 });
      expect(await use("insert", input)).toEqual({ inserted: 0, left_as_they_were: 2, rows: [] });
    });

    it("stores all rows or none", async () => {
      const rows = [{ title: "Half" }, { title: "Checkout is slow" }];
      expect(await fails("insert", { table: "incidents", rows })).toMatch(/409, 23505.*\(title\)=\(Checkout is slow\)/);
      expect(await raw("/incidents?title=eq.Half")).toEqual([]);
    });

    it.each<[string, JsonObject, RegExp]>([
      ["a check", { severity: 9 }, /23514.*severity_known.*A check constraint of the table/],
      ["a missing reference", { service_id: 99 }, /23503.*not present in table "services".*Fix that/],
      ["a null where none may be", { active: null }, /23502.*needs a value/],
      ["a wrong type", { service_id: "one" }, /22P02.*"one".*describe_table/],
      ["a wrong date", { opened_at: "yesterdayish" }, /22007.*ISO 8601/],
      ["a text too long", { status: "x".repeat(20) }, /22001.*too long/],
      ["a number too large", { severity: 99999999999 }, /22003.*out of/],
      ["an unknown column", { titel: 1 }, /PGRST204.*'titel'.*describe_table/],
      ["a column that the database fills", { checksum: "x" }, /428C9.*Leave it out/],
    ])("explains %s", async (what, cells, message) => {
      const rows = [{ title: `Refused: ${what}`, ...cells }];
      expect(await fails("insert", { table: "incidents", rows })).toMatch(message);
    });

    it("explains unless_exists columns that are not a unique key", async () => {
      const input = { table: "incidents", rows: [{ title: "x" }], unless_exists: ["severity"] };
      expect(await fails("insert", input)).toMatch(/42P10.*unless_exists must list/);
    });

    it("does not reach another table through the name of a column", async () => {
      const rows = [{ '"secrets(value)"': "x" }];
      expect(await fails("insert", { table: "incidents", rows })).toMatch(/PGRST204/);
    });
  });

  describe("update and delete", () => {
    const add = async (name: string, count: number) => {
      const rows = Array.from({ length: count }, (_, at) => ({ body: `${name} ${at}` }));
      return idsOf(await use("insert", { table: "texts", rows })) as number[];
    };
    const left = (ids: readonly number[]) => raw(`/texts?id=in.(${ids})&order=id`);
    const set = { notes: "changed" };

    it("change the rows that match, and return them", async () => {
      const ids = await add("named", 3);
      const where = [{ column: "id", op: "in", value: ids.slice(0, 2) }];
      const result = await use("update", {
        table: "texts",
        set: { body: "set" },
        where: where.slice(0, 1),
        max_rows: 2,
      }).catch((error: Error) => error.message);
      expect(result).toMatch(/23505/);
      const one = [{ column: "id", op: "eq", value: ids[0] ?? 0 }];
      expect(await use("update", { table: "texts", set: { body: "set" }, where: one })).toEqual({
        updated: 1,
        rows: [{ id: ids[0], body: "set" }],
      });
      expect(await use("delete", { table: "texts", where })).toMatchObject({ deleted: 2 });
      expect(await left(ids)).toEqual([{ id: ids[2], body: "named 2" }]);
    });

    it("report when no row matches, and change nothing", async () => {
      const where = [{ column: "id", op: "eq", value: -1 }];
      const note = expect.stringContaining("Nothing was changed");
      expect(await use("update", { table: "incidents", set, where })).toEqual({ updated: 0, note });
      expect(await use("delete", { table: "incidents", where })).toEqual({ deleted: 0, note });
    });

    it.each(["update", "delete"])("%s refuses more rows than max_rows and changes none", async (name) => {
      const ids = await add(`many ${name}`, 6);
      const input = { table: "texts", where: [{ column: "id", op: "in", value: ids }] };
      const more: JsonObject = name === "update" ? { set: { body: "x" } } : {};
      expect(await fails(name, { ...input, ...more, max_rows: 5 })).toMatch(/match 6 rows, more than max_rows \(5\)/);
      expect(await left(ids)).toHaveLength(6);
      if (name === "delete") expect(await use(name, { ...input, max_rows: 6 })).toMatchObject({ deleted: 6 });
    });

    it("have a limit of fifty rows by default", async () => {
      const ids = await add("fifty", 51);
      const where = [{ column: "id", op: "in", value: ids }];
      expect(await fails("delete", { table: "texts", where })).toMatch(/match 51 rows, more than max_rows \(50\)/);
      const all = await use("delete", { table: "texts", where, max_rows: 500 });
      expect(all).toMatchObject({ deleted: 51 });
    });

    it("would destroy everything through PostgREST's own parameters and functions of a row, if those were sent", async () => {
      expect(await raw("/incidents?num_nulls=eq.0&select=id")).toHaveLength((await raw("/incidents?select=id")).length);
      const [row] = await raw("/notes", { method: "POST", body: '[{"body": "lost"}]' });
      expect(await raw("/notes?columns=eq.id", { method: "DELETE" })).toEqual([row]);
    });

    it.each<[string, JsonObject, RegExp]>([
      ["a count of nulls that is always 0", { column: "num_nulls", op: "eq", value: 0 }, /"num_nulls" is not a column/],
      ["the row's type", { column: "pg_typeof", op: "in", value: ["16384"] }, /not a column|No row|22P02/],
      ["a function of the row that writes", { column: "escalate", op: "eq", value: "yes" }, /25006/],
      ["PostgREST's parameter columns", { column: "columns", op: "eq", value: "id" }, /Nothing was changed/],
      ["PostgREST's parameter order", { column: "order", op: "eq", value: "id" }, /Nothing was changed/],
      ["PostgREST's parameter limit", { column: "limit", op: "eq", value: "1" }, /42703/],
      ["PostgREST's parameter select", { column: "select", op: "eq", value: "id" }, /42703/],
      ["PostgREST's parameter or", { column: "or", op: "eq", value: "(id.gt.0)" }, /42703/],
      ["a comparison that always holds", { column: "id", op: "gte", value: 0 }, /must be eq/],
      ["not null", { column: "id", op: "is_not", value: null }, /must be eq/],
      ["both truths", { column: "active", op: "in", value: ["true", "false"] }, /must be eq/],
      ["any title", { column: "title", op: "like", value: "*" }, /must be eq/],
      ["a column of another table", { column: "secrets.value", op: "eq", value: "x" }, /does not name/],
    ])("do not match every row with %s", async (_what, condition, message) => {
      const before = await raw("/incidents?order=id");
      const texts = await raw("/texts?body=like.escalated*");
      for (const name of ["update", "delete"]) {
        const input: JsonObject = {
          table: "incidents",
          where: [condition],
          max_rows: 500,
          ...(name === "update" ? { set } : {}),
        };
        const result = await use(name, input).catch((error: Error) => ({ note: error.message }));
        expect(result["note"]).toMatch(message);
      }
      expect(await raw("/incidents?order=id")).toEqual(before);
      expect(await raw("/texts?body=like.escalated*")).toEqual(texts);
    });

    it.each<[string, JsonObject]>([
      ["no conditions", { where: [] }],
      ["no where", {}],
      ["any_of", { where: [{ column: "id", op: "eq", value: 1 }], any_of: [] }],
      ["an unknown operator", { where: [{ column: "id", op: "not.is", value: null }] }],
      ["an operator with a value in it", { where: [{ column: "id", op: "eq.1,id.gt", value: 0 }] }],
      ["a bound beyond 500", { where: [{ column: "id", op: "eq", value: 1 }], max_rows: 501 }],
      ["a select list", { where: [{ column: "id", op: "eq", value: 1 }], select: "id,escalate" }],
    ])("do not accept %s", (_what, input) => {
      for (const [name, more] of [
        ["delete", {}],
        ["update", { set }],
      ] as const) {
        const tool = supabase.tools.find((each) => each.name === name);
        expect(fits(tool?.input_schema, { table: "incidents", ...more, ...input })).toBe(false);
      }
    });

    it("explain a reference that still exists", async () => {
      const where = [{ column: "id", op: "eq", value: 1 }];
      expect(await fails("delete", { table: "incidents", where })).toMatch(/23503.*still referenced.*Fix that first/);
    });
  });

  describe("rights", () => {
    const policy =
      /42501.*row-level security.*A row-level security policy does not allow the key's role to write this row/;

    it("of the key's role limit what is read and written", async () => {
      expect((await use("count", { table: "incidents" }, {}, "triage"))["count"]).toBeLessThan(
        Number((await use("count", { table: "incidents" }))["count"]),
      );
      const rows = [{ title: "Not mine", service_id: 2 }];
      expect(await fails("insert", { table: "incidents", rows }, {}, "triage")).toMatch(policy);
      const where = [{ column: "id", op: "eq", value: 2 }];
      const set = { service_id: 2 };
      expect(await fails("update", { table: "incidents", set, where }, {}, "triage")).toMatch(policy);
      const others = [{ column: "id", op: "eq", value: 3 }];
      expect(await use("delete", { table: "incidents", where: others }, {}, "triage")).toMatchObject({ deleted: 0 });
    });

    it("that are missing are distinguished from policies", async () => {
      const open = { SUPABASE_TABLES: "" };
      expect(await fails("query", { table: "secrets" }, open, "triage")).toMatch(
        /42501.*permission denied for table secrets.*lacks this permission/,
      );
      expect(await fails("query", { table: "incidents" }, {}, "anon")).toMatch(/42501.*permission denied/);
    });

    it("are refused for an invalid key", async () => {
      const message = await fails("query", { table: "incidents" }, { SUPABASE_SERVICE_ROLE_KEY: "not-a-key-at-all" });
      expect(message).toMatch(/401, PGRST301.*SUPABASE_SERVICE_ROLE_KEY is wrong, expired/);
      expect(message).not.toContain("not-a-key-at-all");
    });

    it("do not extend to schemas that are not exposed", async () => {
      const message = await fails("query", { table: "pg_catalog.pg_authid" }, { SUPABASE_TABLES: "" });
      expect(message).toMatch(/PGRST106.*public, ops.*Use one of those schemas/);
    });
  });

  describe("rpc", () => {
    it.each<[string, JsonObject, unknown]>([
      ["a value", { function: "open_count" }, expect.any(Number)],
      ["nothing", { function: "quiet" }, null],
      ["a set", { function: "series", args: { upto: 3 } }, [1, 2, 3]],
      [
        "json",
        {
          function: "merge_doc",
          args: { doc: { a: 1 }, labels: ["x,y", "z"] },
        },
        { a: 1, labels: ["x,y", "z"] },
      ],
      [
        "rows",
        { function: "incidents_of", args: { service: "search" } },
        [expect.objectContaining({ id: 3 }), expect.objectContaining({ id: 4 })],
      ],
    ])("returns %s", async (_what, input, result) => {
      expect(await use("rpc", input)).toEqual({ result });
    });

    it("reports when there is more", async () => {
      const result = await use("rpc", { function: "series", args: { upto: 500 }, limit: 5 });
      expect(result).toEqual({ result: [1, 2, 3, 4, 5], more: "There are more than these 5." });
    });

    it.each<[string, JsonObject, RegExp]>([
      ["a function that refuses", { function: "refuse" }, /P0001.*not during an incident.*wait until it is over/],
      ["a function that is listed but not there", { function: "gone" }, /PGRST202.*public.gone.*list_tables/],
      [
        "arguments that it does not know",
        { function: "series", args: { up_to: 1 } },
        /PGRST202.*names of its arguments/,
      ],
      ["an argument of the wrong type", { function: "series", args: { upto: "x" } }, /22P02/],
    ])("explains %s", async (_what, input, message) => {
      expect(await fails("rpc", input)).toMatch(message);
    });
  });

  it("explains an operator that does not suit the column, and an unknown column", async () => {
    const query = (column: string, op: string, value: string) =>
      fails("query", { table: "incidents", where: [{ column, op, value }] });
    expect(await query("severity", "like", "x*")).toMatch(/42883.*does not match the column's type/);
    expect(await query("severity", "eq", "high")).toMatch(/22P02/);
    expect(await query("severty", "eq", "1")).toMatch(/42703.*describe_table/);
    expect(await fails("query", { table: "incidents", select: "severty" })).toMatch(/42703.*describe_table/);
  });
});

describe("on a scripted service", () => {
  let service: Loopback | undefined;
  afterEach(() => service?.close());

  const start = async (handler: LoopbackHandler, parts: Partial<ToolContext> = {}) => {
    service = await startLoopback(handler);
    return toolContext({ config: configFor(service.url), ...parts });
  };
  const made = () => service?.requests.length ?? 0;

  describe.each(LONG_FORM ? NAMES : ["query", ...WRITES])("%s", (name) => {
    const isWrite = WRITES.includes(name);
    // A tool's first request: a count precedes a change.
    const isFirstWrite = name === "insert" || name === "rpc";

    it.each<[string, number, object, RegExp]>([
      [
        "a wrong key",
        401,
        { message: "Invalid API key", hint: "Double check your key." },
        /401.*Invalid API key.*KEY is wrong/,
      ],
      ["an expired token", 401, { code: "PGRST303", message: "JWT expired" }, /PGRST303.*expired/],
      ["a gateway that forbids", 403, { message: "Forbidden" }, /403.*lacks permission/],
      ["an address without a database", 404, { message: "no Route matched" }, /404.*Check SUPABASE_URL/],
      ["a refusal of a kind unheard of", 422, { message: "odd" }, /\(422\)\. odd\./],
      ["a refusal without words", 400, {}, /\(400\)/],
      ["a statement that took too long", 400, { code: "57014", message: "canceling statement" }, /57014.*Narrow/],
    ])("explains %s", async (_what, status, body, message) => {
      const context = await start((_, response) => sendJson(response, status, body));
      await expect(call(name, context)).rejects.toThrow(message);
      expect(made()).toBe(1);
    });

    it("waits after a 429 as requested, and retries", async () => {
      const context = await start((request, response) => {
        if (made() === 1) sendJson(response, 429, { message: "slow down" }, { "retry-after": "0" });
        else flood(request, response);
      });
      await call(name, context);
      expect(made()).toBeGreaterThan(1);
    });

    it("reports how long to wait after a 429 that lasts", async () => {
      const context = await start((_, response) => sendJson(response, 429, {}, { "retry-after": "600" }));
      await expect(call(name, context)).rejects.toThrow(/rate limit is used up until \d{4}-.*Nothing was done/);
      expect(made()).toBe(1);
    });

    it(isFirstWrite ? "does not repeat a write after a 500" : "repeats a read after a 503", async () => {
      const context = await start((request, response) => {
        if (made() === 1) sendJson(response, isFirstWrite ? 500 : 503, { message: "oops" }, { "retry-after": "0" });
        else flood(request, response);
      });
      const result = call(name, context);
      if (isFirstWrite) await expect(result).rejects.toThrow(/failed \(500\). oops. Whether it took effect is unclear/);
      else await result;
      if (isFirstWrite) expect(made()).toBe(1);
    });

    it(`${isFirstWrite ? "does not repeat" : "repeats"} a request whose connection breaks`, async () => {
      const context = await start((request, response) => {
        if (made() === 1) response.destroy();
        else flood(request, response);
      });
      const result = call(name, context);
      if (isFirstWrite) await expect(result).rejects.toThrow(/could not be reached.*Whether it took effect is unclear/);
      else await result;
      if (isFirstWrite) expect(made()).toBe(1);
    });

    it("gives up on a service that stays down", async () => {
      const context = await start((_, response) =>
        sendJson(response, 503, { code: "PGRST002" }, { "retry-after": "0" }),
      );
      await expect(call(name, context)).rejects.toThrow(/503, PGRST002/);
      expect(made()).toBe(3);
    });

    it("reports an answer that is not JSON", async () => {
      const context = await start((_, response) => {
        response.writeHead(200, { "content-type": "text/html", "content-range": "0-0/1" });
        response.end("<html>");
      });
      await expect(call(name, context)).rejects.toThrow(/not in the expected form. Check SUPABASE_URL/);
    });

    it("reports an answer that is JSON of another kind", async () => {
      const context = await start((_, response) => sendJson(response, 200, { hello: 1 }));
      if (name === "rpc") return expect(await call(name, context)).toEqual({ result: { hello: 1 } });
      await expect(call(name, context)).rejects.toThrow(/SUPABASE_URL|has no count/);
    });

    it("reports a missing answer, without the key", async () => {
      const context = await start(flood);
      await service?.close();
      const message = isFirstWrite
        ? /could not be reached \(ECONNREFUSED\)\. Nothing was sent/
        : /ECONNREFUSED\). Try again later/;
      await expect(call(name, context)).rejects.toThrow(message);
    });

    it("follows no redirect with the key", async () => {
      const context = await start((_, response) => {
        response.writeHead(302, { location: "/elsewhere" });
        response.end();
      });
      await expect(call(name, context)).rejects.toThrow(/could not be reached/);
      expect(made()).toBe(1);
    });

    it("stops waiting when the call is aborted", { timeout: 5000 }, async () => {
      const controller = new AbortController();
      const fetchThenAbort: typeof fetch = async (url, init) => {
        const response = await fetch(url, init);
        setImmediate(() => controller.abort(new Error("the run ended")));
        return response;
      };
      const parts = { signal: controller.signal, fetch: fetchThenAbort };
      const context = await start((_, response) => sendJson(response, 429, {}, { "retry-after": "25" }), parts);
      await expect(call(name, context)).rejects.toThrow("the run ended");
    });

    it.each(["SUPABASE_URL", "SUPABASE_SERVICE_ROLE_KEY"])("reports that %s is not set", async (field) => {
      const context = await start(flood);
      const { [field]: _, ...config } = context.config;
      await expect(call(name, { ...context, config })).rejects.toThrow(`${field} is not set`);
      expect(made()).toBe(0);
    });

    it(`is marked as a ${isWrite ? "write that is not to be repeated unseen" : "read"}`, () => {
      const tool = supabase.tools.find((each) => each.name === name);
      expect(tool?.effect).toBe(isWrite ? "write" : "read");
      expect(tool?.idempotent).toBeUndefined();
    });
  });

  it.each([
    ["SUPABASE_URL", "file:///etc/passwd", "SUPABASE_URL is not an http or https address."],
    ["SUPABASE_URL", "abcdefgh.supabase.co", "SUPABASE_URL is not an http or https address."],
    [
      "SUPABASE_SERVICE_ROLE_KEY",
      "canary\nx: y",
      "SUPABASE_SERVICE_ROLE_KEY contains characters that a header cannot carry: copy it again.",
    ],
  ])("%s %j is refused without being shown", async (field, value, message) => {
    const context = await start(flood);
    const error = await failureOf(() => call("query", { ...context, config: { ...context.config, [field]: value } }));
    expect(error.message).toBe(message);
    expect(made()).toBe(0);
  });

  describe("a change", () => {
    const matching: LoopbackHandler = (_, response) =>
      sendJson(response, 206, [{ id: 1 }], { "content-range": "0-0/2" });
    const asChange =
      (answer: LoopbackHandler) =>
      (request: Parameters<LoopbackHandler>[0], response: Parameters<LoopbackHandler>[1]) =>
        request.method === "GET" ? matching(request, response) : answer(request, response);
    const preferences = () => service?.requests.map(({ headers }) => String(headers["prefer"] ?? "")) ?? [];

    it.each(["update", "delete"])("by %s is limited by the server too, if it supports that", async (name) => {
      const context = await start(asChange((_, response) => sendJson(response, 200, [{ id: 1 }])));
      await call(name, context);
      expect(preferences()[1]).toMatch(/handling=strict/);
      expect(preferences()[1]).toMatch(name === "update" ? /max-affected=50/ : /max-affected=5\b/);
      expect(made()).toBe(2);
    });

    it.each(["update", "delete"])("by %s that matches more rows by then is undone by the server", async (name) => {
      const context = await start(
        asChange((_, response) => sendJson(response, 400, { code: "PGRST124", message: "Query result exceeds" })),
      );
      await expect(call(name, context)).rejects.toThrow(/rows match now. Nothing was changed/);
      expect(made()).toBe(2);
    });

    it.each(["update", "delete"])(
      "by %s is requested without the limit if the server does not support it",
      async (name) => {
        const context = await start(
          asChange(({ headers }, response) =>
            /max-affected/.test(String(headers["prefer"]))
              ? sendJson(response, 400, { code: "PGRST122", message: "Invalid preferences" })
              : sendJson(response, 200, [{ id: 1 }]),
          ),
        );
        await call(name, context);
        expect(preferences()[2]).not.toMatch(/max-affected|strict/);
        expect(made()).toBe(3);
      },
    );

    it.each<[object, number, RegExp]>([
      [{ message: "upstream" }, 502, /502\). upstream. Whether it took effect is unclear/],
      [{ code: "40001", message: "could not serialize" }, 500, /40001.*Nothing was changed/],
      [{ code: "57P01", message: "terminating connection" }, 500, /57P01.*unclear/],
      [{ code: "40003", message: "completion unknown" }, 500, /40003.*unclear/],
    ])("that fails with %j is reported as undone or unclear", async (body, status, message) => {
      const context = await start(asChange((_, response) => sendJson(response, status, body)));
      await expect(call("update", context)).rejects.toThrow(message);
      expect(made()).toBe(2);
    });

    it("is not made when the conditions refer to something that is not a column of the table", async () => {
      const context = await start(matching);
      const where = [
        { column: "id", op: "eq", value: 1 },
        { column: "escalate", op: "neq", value: "x" },
      ];
      await expect(call("delete", context, { table: "incidents", where })).rejects.toThrow(
        /"escalate" is not a column/,
      );
      expect(made()).toBe(1);
    });

    it("is not made when the count is missing", async () => {
      const context = await start((_, response) => sendJson(response, 200, [{ id: 1 }]));
      await expect(call("delete", context)).rejects.toThrow(/has no count. Nothing was changed/);
      expect(made()).toBe(1);
    });
  });

  it("keeps the original refusal for an unknown table if the server does not describe itself", async () => {
    const context = await start(({ url }, response) =>
      url === "/rest/v1/"
        ? sendJson(response, 404, { code: "PGRST126", message: "Root endpoint metadata is disabled" })
        : sendJson(response, 404, { code: "PGRST205", message: "Could not find the table", hint: "try secrets" }),
    );
    const error = await failureOf(() => call("query", context));
    expect(error.message).toBe(
      "Supabase refused (404, PGRST205). Could not find the table. Look up the tables with list_tables.",
    );
  });
});

describe("data of Supabase outside of the database", () => {
  let service: Loopback | undefined;
  afterEach(() => service?.close());

  const start = async (body: unknown, status = 200) => {
    service = await startLoopback((_, response) => sendJson(response, status, body, { "retry-after": "0" }));
    return toolContext({ config: configFor(service.url) });
  };
  const asked = () => new URL(service?.requests[0]?.url ?? "", "http://x");

  it("includes a service's log, newest first, of the requested period and with the requested text", async () => {
    const line = (at: number) => ({ id: `l${at}`, timestamp: 1_769_846_400_000_000 + at, event_message: `line ${at}` });
    const logs = await call("service_logs", await start({ result: [line(3e6), line(2e6), line(1e6)], error: null }));
    expect(logs).toEqual({
      service: "database",
      from: "2026-01-31T08:00:00.000Z",
      to: "2026-01-31T09:00:00.000Z",
      lines: [
        { at: "2026-01-31T08:00:03.000Z", message: "line 3000000" },
        { at: "2026-01-31T08:00:02.000Z", message: "line 2000000" },
      ],
      more: expect.stringContaining("older lines"),
    });
    expect(asked().pathname).toBe("/v1/projects/abcdefgh/analytics/endpoints/logs");
    expect(service?.requests[0]?.headers.authorization).toBe(`Bearer ${ACCESS_TOKEN}`);
    expect(asked().searchParams.get("sql")).toBe(
      "select timestamp, event_message from logs where source = 'postgres_logs' and position(event_message, 'it\\'s a \\\\ timeout') > 0 order by timestamp desc limit 3",
    );
  });

  it("gives the time of a line so that none before it in the same millisecond is lost", async () => {
    const result = [400, 300].map((at) => ({ timestamp: 1_769_846_400_000_000 + at, event_message: `${at}` }));
    const { lines } = await call("service_logs", await start({ result }), { service: "api" });
    expect(lines).toEqual([400, 300].map((at) => ({ at: "2026-01-31T08:00:00.001Z", message: `${at}` })));
  });

  it.each([
    ["2026-01-31 08:00:00.000400", "2026-01-31T08:00:00.001Z"],
    ["2026-01-31 08:00:00", "2026-01-31T08:00:00.000Z"],
    ["2026-01-31T09:00:00.25+01:00", "2026-01-31T08:00:00.250Z"],
    ["2026-01-31T08:00:00.250Z", "2026-01-31T08:00:00.250Z"],
    ["yesterday", undefined],
  ])("reads the time %s of a line", async (timestamp, at) => {
    const { lines } = await call("service_logs", await start({ result: [{ timestamp, event_message: "x" }] }), {
      service: "api",
    });
    expect(lines).toEqual([{ ...(at && { at }), message: "x" }]);
  });

  it("includes no log of more than a day, nor of an empty period, and reports the service's error", async () => {
    const context = await start({ error: { message: "Unrecognized name" } });
    const day = { service: "api", from: "2026-01-30T08:00:00Z", to: "2026-01-31T09:00:00Z" };
    await expect(call("service_logs", context, day)).rejects.toThrow(/at most 24 hours/);
    await expect(call("service_logs", context, { ...day, from: day.to, to: day.from })).rejects.toThrow(/is empty/);
    expect(service?.requests).toHaveLength(0);
    await expect(call("service_logs", context, { service: "api" })).rejects.toThrow("Unrecognized name");
  });

  it("includes the migrations, newest first, and how many are not shown", async () => {
    const all = ["20260101000000", "20260301000000", "20260201000000"].map((version) => ({
      version,
      name: `m${version}`,
    }));
    expect(await call("list_migrations", await start(all))).toEqual({
      total: 3,
      migrations: [all[1], all[2]],
      left_out: 1,
    });
    await service?.close();
    expect(await call("list_migrations", await start([]))).toEqual({ total: 0, migrations: [] });
  });

  it("includes the advisor's findings, the worst first, of a level or about a table", async () => {
    const lint = (name: string, level: string, table: string) => ({
      ...{ name, level, title: "Unindexed foreign keys", facing: "EXTERNAL", categories: ["PERFORMANCE"] },
      ...{ description: "lorem", detail: `Table ${table} has a foreign key without an index`, cache_key: name },
      ...{ remediation: "https://supabase.com/docs", metadata: { schema: "public", name: table, type: "table" } },
    });
    const lints = [lint("a", "INFO", "orders"), lint("b", "ERROR", "users"), lint("c", "WARN", "orders")];
    const context = await start({ lints });
    expect(await call("list_advisories", context)).toMatchObject({
      advisories: [{ name: "b", about: "public.users" }, { name: "c" }],
      levels: { ERROR: 1, WARN: 1, INFO: 1 },
      left_out: 1,
    });
    expect(asked().pathname).toBe("/v1/projects/abcdefgh/advisors/performance");
    const ofOrders = { kind: "security", level: "INFO", contains: "ORDERS" };
    expect(await call("list_advisories", context, ofOrders)).toMatchObject({
      advisories: [{ name: "a" }],
      matching: 1,
    });
    await service?.close();
    expect(await call("list_advisories", await start({ lints: [] }))).toMatchObject({
      note: expect.stringContaining("no findings"),
    });
    await service?.close();
    await expect(call("list_advisories", await start({ lints: 7 }))).rejects.toThrow(/unexpected form/);
  });

  it.each([
    [401, /refused authentication \(401 .*nope\. SUPABASE_ACCESS_TOKEN is wrong, expired or revoked/],
    [403, /does not allow this \(403 .*nope/],
    [404, /\(404 .*nope\. Check SUPABASE_PROJECT/],
    [400, /invalid \(400 .*nope/],
    [503, /failed \(503 .*nope\. Try again later/],
  ])("explains a %i", async (status, message) => {
    for (const name of Object.keys(MANAGEMENT)) {
      await expect(call(name, await start({ message: "nope" }, status))).rejects.toThrow(message);
      await service?.close();
    }
  });

  it("is found through the project's address, or needs a setting", async () => {
    const context = await start([]);
    const { SUPABASE_PROJECT: _, ...config } = context.config;
    const hosted = { ...config, SUPABASE_URL: "https://zyxwvuts.supabase.co" };
    await call("list_migrations", { ...context, config: hosted });
    expect(asked().pathname).toBe("/v1/projects/zyxwvuts/database/migrations");
    await expect(call("list_migrations", { ...context, config })).rejects.toThrow(/Set SUPABASE_PROJECT/);
    const odd = { ...config, SUPABASE_PROJECT: "../x" };
    await expect(call("list_migrations", { ...context, config: odd })).rejects.toThrow(/Set SUPABASE_PROJECT/);
    const { SUPABASE_ACCESS_TOKEN: __, ...bare } = context.config;
    await expect(call("list_migrations", { ...context, config: bare })).rejects.toThrow(
      /SUPABASE_ACCESS_TOKEN is not set/,
    );
  });
});

it("lists every table once, though long descriptions leave room for few", async () => {
  const names = Array.from({ length: 90 }, (_, at) => `table_${at}`);
  const description = "é".repeat(200);
  const api = {
    definitions: Object.fromEntries(names.map((name) => [name, { description }])),
    paths: Object.fromEntries(names.map((name) => [`/${name}`, {}])),
  };
  const service = await startLoopback((_, response) => sendJson(response, 200, api));
  const { SUPABASE_TABLES: _, ...config } = configFor(service.url);
  const listed: unknown[] = [];
  for (let offset: unknown = 0; offset !== undefined; ) {
    const page = await call("list_tables", toolContext({ config }), { limit: 90, offset: offset as number });
    listed.push(...(page["tables"] as JsonObject[]).map(({ table }) => table));
    offset = page["next_offset"];
  }
  await service.close();
  expect(listed).toEqual(names);
});

describe("groups", () => {
  let service: Loopback | undefined;
  afterEach(() => service?.close());

  it("are formed here if the database may not, a page at a time, with the number of rows", async () => {
    const rows = Array.from({ length: 1500 }, (_, id) => ({ k0: id % 3 === 0 ? "open" : null, value: id }));
    service = await startLoopback(({ url }, response) => {
      const query = new URL(url, "http://x").searchParams;
      if (/\(\)/.test(query.get("select") ?? "")) {
        return sendJson(response, 400, { code: "PGRST123", message: "Use of aggregate functions is not allowed" });
      }
      const from = Number(query.get("offset") ?? 0);
      sendJson(response, 206, rows.slice(from, from + 1000));
    });
    const context = toolContext({ config: configFor(service.url) });
    const by = ["status"];
    expect(await call("group", context, { table: "incidents", by })).toEqual({
      groups: [
        { status: null, count: 1000 },
        { status: "open", count: 500 },
      ],
      groups_total: 2,
      rows_counted: 1500,
    });
    const greatest = { table: "incidents", by, measure: "max", of: "id", limit: 1 };
    expect(await call("group", context, greatest)).toMatchObject({
      groups: [{ status: null, max: 1499 }],
      groups_total: 2,
    });
    await expect(call("group", context, { table: "incidents", by, measure: "avg" })).rejects.toThrow(/avg needs of/);
  });

  it("are not measured here by values that are not numbers", async () => {
    service = await startLoopback(({ url }, response) => {
      if (/max\(\)/.test(decodeURIComponent(url)))
        return sendJson(response, 400, { code: "PGRST123", message: "not allowed" });
      sendJson(response, 206, [{ k0: "open", value: "2026-01-31T08:00:00+00:00" }]);
    });
    const context = toolContext({ config: configFor(service.url) });
    const latest = { table: "incidents", by: ["status"], measure: "max", of: "opened_at" };
    await expect(call("group", context, latest)).rejects.toThrow(/"opened_at" has values that are not numbers/);
  });

  it("are sorted by times too, and without a value last", async () => {
    const times = ["2026-01-30T08:00:00+00:00", null, "2026-01-31T08:00:00+00:00"];
    const rows = times.map((value, at) => ({ k0: at, value }));
    service = await startLoopback((_, response) => sendJson(response, 206, rows));
    const context = toolContext({ config: configFor(service.url) });
    const latest = { table: "incidents", by: ["id"], measure: "max", of: "opened_at" };
    const { groups } = await call("group", context, latest);
    expect((groups as JsonObject[]).map(({ id }) => id)).toEqual([2, 0, 1]);
  });

  it("and rows have a next page if the server returned fewer than requested", async () => {
    service = await startLoopback((_, response) =>
      sendJson(response, 206, [{ id: 1 }, { id: 2 }], { "content-range": "0-1/5" }),
    );
    const context = toolContext({ config: configFor(service.url) });
    const input = { table: "incidents", limit: 100, total: true };
    expect(await call("query", context, input)).toMatchObject({ total: 5, next_offset: 2 });
  });

  it.each([
    [30, 31, { next_offset: 30 }, { incomplete: expect.stringContaining("Only 30 groups were read") }],
    [30, 30, {}, {}],
    [30, 7, {}, {}],
  ])("and rows are called incomplete if max-rows is %s and there are %s", async (most, all, page, groups) => {
    const rows = Array.from({ length: all }, (_, id) => ({ id, k0: id, value: 1 }));
    service = await startLoopback(({ url }, response) => {
      const query = new URL(url, "http://x").searchParams;
      const from = Number(query.get("offset") ?? 0);
      const size = Math.min(most, Number(query.get("limit") ?? most));
      sendJson(response, 200, rows.slice(from, from + size), { "content-range": `${from}-${from + size - 1}/*` });
    });
    const context = toolContext({ config: configFor(service.url) });
    const queried = await call("query", context, { table: "incidents", limit: 100 });
    expect(queried).toEqual({ rows: rows.slice(0, most), ...page });
    const grouped = await call("group", context, { table: "incidents", by: ["id"] });
    expect(grouped).toEqual({ groups: expect.anything(), groups_total: Math.min(most, all), ...groups });
    expect(service.requests).toHaveLength(all < 10 ? 2 : 4);
  });

  it("and rows may have a next page if that cannot be found out", async () => {
    const rows = Array.from({ length: 12 }, (_, id) => ({ id }));
    service = await startLoopback(({ url }, response) => {
      const isFirst = (new URL(url, "http://x").searchParams.get("offset") ?? "0") === "0";
      sendJson(response, isFirst ? 200 : 403, isFirst ? rows : { message: "no" });
    });
    const context = toolContext({ config: configFor(service.url) });
    expect(await call("query", context, { table: "incidents", limit: 100 })).toEqual({ rows, next_offset: 12 });
  });
});

const LONG = 'é"\n'.repeat(200);
const WIDE = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`column_${at}`, LONG]));

/** An answer of maximum size: wide rows, many tables with many columns. */
function flood(...[{ method, url }, response]: Parameters<LoopbackHandler>): void {
  const path = new URL(url, "http://x").pathname;
  if (path.startsWith("/v1/projects/")) {
    const result = Array.from({ length: 200 }, () => ({ timestamp: 1_769_846_400_000_000, event_message: LONG }));
    const migrations = Array.from({ length: 300 }, (_, at) => ({ version: `2026010100${at}`, name: LONG }));
    const lints = Array.from({ length: 300 }, () => ({ name: "a", level: "WARN", detail: LONG, title: LONG }));
    sendJson(response, 200, path.endsWith("migrations") ? migrations : { result, error: null, lints });
    return;
  }
  if (path === "/rest/v1/") {
    sendJson(response, 200, API);
    return;
  }
  const rows = Array.from({ length: method === "GET" && url.includes("limit=1&") ? 1 : 101 }, (_, id) => ({
    id,
    ...WIDE,
  }));
  sendJson(response, method === "GET" ? 206 : 200, rows, { "content-range": "0-100/2" });
}

const properties = Object.fromEntries(
  Array.from({ length: 300 }, (_, at) => [
    `column_${at}`,
    {
      type: "string",
      format: "text",
      description: `${LONG}\n\nNote:\nThis is a Foreign Key to \`a.b\`.<fk table='a' column='b'/>`,
    },
  ]),
);
const tableNames = ["incidents", ...Array.from({ length: 300 }, (_, at) => `table_${at}`)];
const API = {
  definitions: Object.fromEntries(
    tableNames.map((name, at) => [name, { description: LONG, properties: at === 0 ? properties : {} }]),
  ),
  paths: Object.fromEntries([...tableNames.map((name) => [`/${name}`, {}]), ["/rpc/open_count", {}]]),
};

describeSkill(supabase, {
  config: configFor,
  inputs: { ...INPUTS, ...MANAGEMENT },
  flood,
  open: ["input.rows[]", "input.set", "input.args"],
});
