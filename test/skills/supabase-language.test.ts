import * as fc from "fast-check";
import type { Json, JsonObject } from "skillflow";
import { jsonSize } from "skillflow/internal";
import { toolContext } from "skillflow/testing";
import { describe, expect, it } from "vitest";
import { callable, isReadable, isWritable, namesLike, readable, writable } from "../../skills/supabase/places.ts";
import {
  bounded,
  parseColumn,
  parseName,
  parseSelect,
  renderColumn,
  renderSelect,
  rowOf,
} from "../../skills/supabase/query/columns.ts";
import { type Condition, renderFilter, requireSelective } from "../../skills/supabase/query/filters.ts";
import { fitRows } from "../../skills/supabase/rows.ts";
import { runsOf } from "../harness/long.ts";

describe("a select list", () => {
  it.each([
    ["*", "*"],
    ["id", '"id"'],
    [" id , title ", '"id","title"'],
    ["id,*", '"id",*'],
    ["when:opened_at", '"when":"opened_at"'],
    ["id::text", '"id"::text'],
    ["n:payload->error->>code", '"n":"payload"->"error"->>"code"'],
    ["payload->list->-1", '"payload"->"list"->-1'],
    ["payload->0->>1", '"payload"->0->>1'],
    ['"odd.name, (really)"', '"odd.name, (really)"'],
    ['payload->"a b"', '"payload"->"a b"'],
    ["order,limit,and,or,not", '"order","limit","and","or","not"'],
    ['"secrets(*)"', '"secrets(*)"'],
    ['"größe"', '"größe"'],
    ["when:created_at::date", '"when":"created_at"::date'],
  ])("%s is sent as %s", (text, sent) => {
    expect(renderSelect(parseSelect(text))).toBe(sent);
  });

  it.each([
    "*,secrets(*)",
    "secrets(*)",
    "id,secrets(value)",
    "id, secrets ( value )",
    "x:secrets(*)",
    '"secrets"(*)',
    'x:"secrets"(value)',
    "secrets!inner(*)",
    "secrets!secrets_incident_id_fkey(*)",
    "x:secrets!left(*)",
    "...secrets(value)",
    "..secrets(value)",
    "id,...secrets(*)",
    "service_id(*)",
    "incidents_service_id_fkey(name)",
    "services(incidents(secrets(*)))",
    "count()",
    "severity.sum()",
    "id.count()",
    "secrets.value",
    "public.incidents.id",
  ])("%s, which would reach another table or a function, is refused", (text) => {
    expect(() => parseSelect(text)).toThrow(/does not name columns|Other tables cannot be read/);
  });

  it.each([
    "",
    " ",
    ",",
    "id,",
    ",id",
    "id title",
    "*:id",
    "a:*",
    "a:b:c",
    "a::text::text",
    "id::regclass",
    "id::text[]",
    "id::pg_catalog.text",
    "id::",
    "->a",
    "a->",
    "a->>",
    "a->->b",
    "1",
    "a-b",
    "'id'",
    '"id',
    'i"d',
    '"a""b"',
    '"a\\"b"',
    '"*"',
    '"a\nb"',
    '"\u0000"',
    "a;b",
    "id&select=*",
    "id%2Csecrets(*)",
    "größe",
    "id--",
    "a->>1x",
    `"${"x".repeat(64)}"`,
    Array.from({ length: 61 }, (_, at) => `c${at}`).join(","),
  ])("%j is not a select list", (text) => {
    expect(() => parseSelect(text)).toThrow();
  });

  it("gets an error that describes its form and the lack of joins", () => {
    expect(() => parseSelect("*,secrets(*)")).toThrow(/at "\(\*\)".*Query them separately/);
  });

  const pieces = fc.constantFrom(
    "id",
    "secrets",
    "*",
    "(",
    ")",
    "!",
    "...",
    ".",
    ",",
    ":",
    "::",
    "->",
    "->>",
    '"',
    "\\",
  );
  const hostile = fc.oneof(
    fc.string(),
    fc.array(fc.oneof(pieces, fc.string({ maxLength: 3 }))).map((all) => all.join("")),
  );

  it("is refused, or sent with nothing outside of quotes that has a meaning beyond columns", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const sent = attempt(() => renderSelect(parseSelect(text)));
        if (sent === undefined) return;
        const bare = sent.replace(/"[^"\\]*"/g, "n");
        expect(bare).toMatch(/^(\*|(n:)?n(->>?(n|-?\d+))*(::[a-z]+)?)(,(\*|(n:)?n(->>?(n|-?\d+))*(::[a-z]+)?))*$/);
      }),
      { numRuns: runsOf(2000) },
    );
  });

  it("is parsed again as the same list", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const items = attempt(() => parseSelect(text));
        if (items) expect(parseSelect(renderSelect(items))).toEqual(items);
      }),
    );
  });
});

const NAME = fc.oneof(
  fc.constantFrom("id", "order", "and", "not", "columns", "odd.name", "a,b", "a)b", "or(", "eq.1"),
  fc.string({ minLength: 1, maxLength: 20 }).filter((name) => /^[^"\\\p{Cc}]+$/u.test(name) && name !== "*"),
);
const TEXT = fc.oneof(
  fc.string(),
  fc.constantFrom("a,b", "a)", '"', '\\"', "\\", "),or(id.gt.0", '"),("id".gt."0', "null", "(1,2)", "*", "%"),
);

/** A reader of PostgREST's logical expressions by its grammar, to check how an expression is understood. */
function understood(text: string): unknown {
  let at = 0;
  const fail = (): never => {
    throw new Error(`not understood at ${at}: ${text}`);
  };
  const take = (pattern: RegExp): string => {
    const sticky = new RegExp(pattern.source, "yu");
    sticky.lastIndex = at;
    const found = sticky.exec(text) ?? fail();
    at = sticky.lastIndex;
    return found[0];
  };
  const isNext = (sign: string) => text.startsWith(sign, at);
  const quotedText = () =>
    take(/"(?:[^"\\]|\\[\s\S])*"/)
      .slice(1, -1)
      .replace(/\\([\s\S])/g, "$1");
  const list = <Item>(item: () => Item): Item[] => {
    take(/\(/);
    const items = [item()];
    while (isNext(",")) {
      take(/,/);
      items.push(item());
    }
    take(/\)/);
    return items;
  };
  const expression = (): unknown => {
    if (!isNext('"')) return { [take(/and|or/)]: list(expression) };
    const column = quotedText();
    const op = take(/\.(not\.)?[a-z]+\./).slice(1, -1);
    if (/^(not\.)?is$/.test(op)) return [column, op, take(/null|true|false/)];
    return [column, op, isNext("(") ? list(quotedText) : quotedText()];
  };
  const read = expression();
  return at === text.length ? read : fail();
}

describe("a filter", () => {
  it.each<[string, Condition, string]>([
    ["a text", { column: "a", op: "eq", value: 'x"y\\z' }, '"a".eq."x\\"y\\\\z"'],
    ["a number", { column: "a", op: "gte", value: 1.5 }, '"a".gte."1.5"'],
    ["a boolean", { column: "a", op: "neq", value: true }, '"a".neq."true"'],
    ["a list", { column: "a", op: "in", value: ["x", 2, "a,b)"] }, '"a".in.("x","2","a,b)")'],
    ["the opposite of a list", { column: "a", op: "not_in", value: ["x"] }, '"a".not.in.("x")'],
    ["null", { column: "a", op: "is", value: null }, '"a".is.null'],
    ["not null", { column: "a", op: "is_not", value: null }, '"a".not.is.null'],
    ["true", { column: "a", op: "is", value: true }, '"a".is.true'],
    ["an array", { column: "a", op: "contains", value: ["x", 'y"'] }, '"a".cs."{\\"x\\",\\"y\\\\\\"\\"}"'],
    ["json", { column: "a", op: "contains", value: '{"k":1}' }, '"a".cs."{\\"k\\":1}"'],
    ["words", { column: "a", op: "search", value: "pool -slow" }, '"a".wfts."pool -slow"'],
    ["a path", { column: "p->e->>code", op: "eq", value: "E" }, '"p"->"e"->>"code".eq."E"'],
    ["a column called order", { column: "order", op: "eq", value: "x" }, '"order".eq."x"'],
  ])("with %s is sent inside one expression", (_what, condition, sent) => {
    expect(renderFilter([condition])).toBe(`and(${sent})`);
  });

  it("is understood as intended, for any names and values", () => {
    const condition = fc.oneof(
      fc.record({ column: NAME, op: fc.constantFrom("eq", "neq", "like", "gt"), value: TEXT }),
      fc.record({ column: NAME, op: fc.constant("in"), value: fc.array(TEXT, { minLength: 1, maxLength: 5 }) }),
      fc.record({ column: NAME, op: fc.constant("is"), value: fc.constant(null) }),
    );
    const meant = ({ column, op, value }: { column: string; op: string; value: unknown }) => [
      column,
      op,
      value === null ? "null" : value,
    ];
    const asInput = ({ column, ...rest }: { column: string; op: string; value: unknown }) =>
      ({ column: `"${column}"`, ...rest }) as Condition;
    fc.assert(
      fc.property(
        fc.array(condition, { minLength: 1, maxLength: 4 }),
        fc.array(condition, { minLength: 2, maxLength: 4 }),
        (all, any) => {
          const filter = renderFilter(all.map(asInput), any.map(asInput)) ?? "";
          expect(understood(filter)).toEqual({ and: [...all.map(meant), { or: any.map(meant) }] });
        },
      ),
    );
  });

  it.each<[string, Condition, RegExp]>([
    ["a list for eq", { column: "a", op: "eq", value: ["x"] }, /use "in" or "not_in"/],
    ["null for eq", { column: "a", op: "eq", value: null }, /use "is" or "is_not"/],
    ["null for neq", { column: "a", op: "neq", value: null }, /use "is" or "is_not"/],
    ["one value for in", { column: "a", op: "in", value: "x" }, /in needs a list/],
    ["a text for is", { column: "a", op: "is", value: "null" }, /is needs null, true or false/],
    ["a dotted column", { column: "secrets.value", op: "eq", value: "x" }, /does not name columns/],
    ["an expression for a column", { column: "and(id.gt.0", op: "eq", value: 0 }, /does not name columns/],
    ["a select list for a column", { column: "a,b", op: "eq", value: 0 }, /does not name columns/],
    ["an alias for a column", { column: "a:b", op: "eq", value: 0 }, /does not name columns/],
    ["a cast for a column", { column: "a::text", op: "eq", value: 0 }, /does not name columns/],
    ["a star for a column", { column: "*", op: "eq", value: 0 }, /does not name columns/],
    ["an operator in a column", { column: "a.not", op: "eq", value: 0 }, /does not name columns/],
    ["a quote in a column", { column: 'a"b', op: "eq", value: 0 }, /does not name columns/],
  ])("with %s is refused", (_what, condition, message) => {
    expect(() => renderFilter([condition])).toThrow(message);
  });

  it("that is too long for an address is refused before it is sent", () => {
    const value = Array.from({ length: 100 }, (_, at) => `${at}${"€".repeat(20)}`);
    expect(() => renderFilter([{ column: "a", op: "in", value }])).toThrow(/fewer or shorter values/);
  });
});

describe("conditions for a change", () => {
  const eq: Condition = { column: "id", op: "eq", value: 1 };
  it.each<[string, Condition[]]>([
    ["an equality", [eq]],
    ["an equality with false", [{ column: "active", op: "eq", value: false }]],
    ["a list", [{ column: "id", op: "in", value: [1, 2] }]],
    ["a list of words", [{ column: "status", op: "in", value: ["open", "on hold"] }]],
    ["an equality among others", [{ column: "id", op: "gte", value: 0 }, eq]],
  ])("are sufficient with %s", (_what, conditions) => {
    expect(() => requireSelective(conditions)).not.toThrow();
  });

  it.each<[string, Condition[]]>([
    ["nothing", []],
    ["is not null", [{ column: "id", op: "is_not", value: null }]],
    ["is null", [{ column: "id", op: "is", value: null }]],
    ["is true", [{ column: "active", op: "is", value: true }]],
    ["at least the least", [{ column: "id", op: "gte", value: "-9223372036854775808" }]],
    ["at most the most", [{ column: "id", op: "lte", value: "9223372036854775807" }]],
    ["anything but one", [{ column: "id", op: "neq", value: -1 }]],
    ["none of a list", [{ column: "id", op: "not_in", value: [-1] }]],
    ["any text", [{ column: "title", op: "like", value: "*" }]],
    ["any text, whatever the case", [{ column: "title", op: "ilike", value: "%" }]],
    ["an array that contains nothing", [{ column: "tags", op: "contains", value: "{}" }]],
    ["a search", [{ column: "title", op: "search", value: "-x" }]],
    ["both truths", [{ column: "active", op: "in", value: ["true", "false"] }]],
    ["both truths, shortly", [{ column: "active", op: "in", value: [" T ", "n", "maybe"] }]],
    ["both truths as numbers", [{ column: "active", op: "in", value: [1, 0] }]],
    ["an equality without a value", [{ column: "id", op: "eq", value: null }]],
    [
      "several that always hold",
      [
        { column: "id", op: "gte", value: 0 },
        { column: "title", op: "is_not", value: null },
      ],
    ],
  ])("are not sufficient with %s", (_what, conditions) => {
    expect(() => requireSelective(conditions)).toThrow(/at least one condition must be eq.*Nothing was changed/);
  });
});

describe("the lists of tables and functions", () => {
  const contextOf = (config: Record<string, string>) => toolContext({ config });
  const listed = contextOf({ SUPABASE_TABLES: " incidents , ops.runbooks", SUPABASE_FUNCTIONS: "open_count" });

  it.each(["incidents", "public.incidents", "ops.runbooks"])("allow reading and changing %s", (name) => {
    expect(readable(name, listed)).toEqual(writable(name, listed));
  });

  it.each(["secrets", "ops.incidents", "ops.secrets", "runbooks", "public.runbooks", "Incidents", "auth.users"])(
    "do not allow reading or changing %s",
    (name) => {
      expect(() => readable(name, listed)).toThrow(/is not in SUPABASE_TABLES: use incidents, ops.runbooks\./);
      expect(() => writable(name, listed)).toThrow(/is not in SUPABASE_TABLES/);
    },
  );

  it.each([
    "incidents/../secrets",
    "incidents?select=*",
    "incidents#",
    "../secrets",
    "rpc/forget_all",
    "%2e%2e",
    "incidents secrets",
    "public.incidents.id",
    ".incidents",
    "incidents.",
    "",
    " incidents",
    "incidents\n",
    "incidents,secrets",
    "tàble",
    "-x",
    "x".repeat(64),
  ])("treat %j as no name at all", (name) => {
    for (const choose of [readable, writable, callable]) {
      expect(() => choose(name, listed)).toThrow(/is not a name. Write name or schema.name/);
    }
  });

  it("allow reading everything and changing or calling nothing when they are not set", () => {
    const open = contextOf({ SUPABASE_TABLES: "  " });
    expect(readable("secrets", open)).toEqual({ schema: "public", name: "secrets" });
    expect(() => writable("secrets", open)).toThrow(/is read-only: SUPABASE_TABLES is not set/);
    expect(() => callable("open_count", open)).toThrow(/No function can be called: SUPABASE_FUNCTIONS is not set/);
  });

  it("allow calls of listed functions only", () => {
    expect(callable("public.open_count", listed)).toEqual({ schema: "public", name: "open_count" });
    expect(() => callable("forget_all", listed)).toThrow(/is not in SUPABASE_FUNCTIONS: use open_count/);
    expect(() => callable("ops.open_count", listed)).toThrow(/is not in SUPABASE_FUNCTIONS/);
  });

  it.each([",", "incidents,", "incidents;secrets", "*", "public.*", "a.b.c", '"incidents"'])(
    "allow nothing when they cannot be parsed: %j",
    (text) => {
      const context = contextOf({ SUPABASE_TABLES: text, SUPABASE_FUNCTIONS: text });
      expect(() => readable("incidents", context)).toThrow(/SUPABASE_TABLES: ".*" is not a name or schema.name/);
      expect(() => callable("open_count", context)).toThrow(/SUPABASE_FUNCTIONS: /);
    },
  );

  it("refer to the configured schema by default", () => {
    const context = contextOf({ SUPABASE_TABLES: "runbooks", SUPABASE_SCHEMA: "ops" });
    expect(readable("runbooks", context)).toEqual({ schema: "ops", name: "runbooks" });
    expect(isWritable({ schema: "public", name: "runbooks" }, context)).toBe(false);
    expect(isReadable({ schema: "ops", name: "secrets" }, context)).toBe(false);
    expect(() => readable("x", contextOf({ SUPABASE_SCHEMA: "a,b" }))).toThrow(/SUPABASE_SCHEMA "a,b"/);
  });

  it("suggest similar names", () => {
    expect(namesLike("incident", ["services", "incidents", "secrets"])).toEqual(["incidents"]);
    expect(namesLike("zzz", ["services", "incidents"])).toEqual([]);
  });
});

describe("values to write", () => {
  it("are accepted unchanged, by the names of their columns", () => {
    const row = { title: '{"not": "read"}', payload: { a: [1, null] }, notes: null, '"odd.name"': ["x"] };
    expect(rowOf(row)).toEqual({ title: '{"not": "read"}', payload: { a: [1, null] }, notes: null, "odd.name": ["x"] });
    expect(rowOf({})).toEqual({});
  });

  it.each([
    ["a column that is given twice", { a: 1, '"a"': 2 }, /"a" is given twice/],
    ["a path into a column", { "a->b": 1 }, /is a path into a column/],
    ["a name with a quote", { 'a"': 1 }, /does not name columns/],
    [
      "more cells than a row has",
      Object.fromEntries(Array.from({ length: 61 }, (_, at) => [`c${at}`, 1])),
      /at most 60/,
    ],
  ])("are refused with %s", (_what, row, message) => {
    expect(() => rowOf(row)).toThrow(message);
  });

  it("are refused when they are too many bytes for one request", () => {
    expect(bounded({ a: "x" })).toEqual({ a: "x" });
    expect(() => bounded({ a: "x".repeat(200_000) })).toThrow(/Write less at a time/);
  });

  it("keep a name with a meaning in JavaScript", () => {
    expect(JSON.stringify(rowOf(JSON.parse('{"__proto__": 1}') as JsonObject))).toBe('{"__proto__":1}');
    expect(renderColumn(parseColumn("constructor"))).toBe('"constructor"');
    expect(parseName('"toString"')).toBe("toString");
  });
});

describe("rows in an answer", () => {
  it("remain unchanged when they are few, nulls included", () => {
    const rows = [{ id: 1, note: null, doc: { a: [1] } }, 7, "text", null];
    expect(fitRows(rows)).toEqual({ rows, leftOut: 0 });
  });

  it("have long cells cut before rows are left out", () => {
    const { rows, leftOut } = fitRows(Array.from({ length: 10 }, (_, id) => ({ id, body: "x".repeat(5000) })));
    expect(leftOut).toBe(0);
    expect(rows[9]).toMatchObject({ id: 9, body: expect.stringMatching(/^x{1500}… \[3500 more characters\]$/) });
  });

  it("are left out from the end only", () => {
    const all = Array.from({ length: 500 }, (_, id) => ({ id, body: "x".repeat(200) }));
    const { rows, leftOut } = fitRows(all);
    expect(rows.map((row) => (row as { id: number }).id)).toEqual(all.slice(0, rows.length).map(({ id }) => id));
    expect(rows.length + leftOut).toBe(500);
  });

  it("contain at least one even when it is enormous", () => {
    const wide = Object.fromEntries(Array.from({ length: 1600 }, (_, at) => [`column_${at}`, '"'.repeat(400)]));
    const { rows, leftOut } = fitRows([wide, { id: 2 }]);
    expect(rows).toHaveLength(1);
    expect(leftOut).toBe(1);
    expect(jsonSize(rows as Json)).toBeLessThan(19_000);
  });

  it("never exceed what a model can afford", () => {
    const cell = fc.oneof(
      fc.jsonValue(),
      fc.string({ maxLength: 50 }).map((text) => text.repeat(400)),
    );
    const row = fc.dictionary(fc.string({ maxLength: 10 }), cell, { maxKeys: 8 });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 60 }), (rows) => {
        const fitted = fitRows(rows as Json[]);
        expect(jsonSize(fitted.rows as Json)).toBeLessThan(19_000);
        expect(fitted.rows.length + fitted.leftOut).toBe(rows.length);
        if (rows.length > 0) expect(fitted.rows.length).toBeGreaterThan(0);
      }),
    );
  });
});

function attempt<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error && !(error instanceof TypeError)) return undefined;
    throw error;
  }
}
