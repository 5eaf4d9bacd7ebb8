import fc from "fast-check";
import { defineTool, type JsonObject } from "skillflow";
import { trim } from "skillflow/internal";
import { sendJson, startLoopback, toolContext } from "skillflow/testing";
import { expect, test } from "vitest";
import * as z from "zod";
import sentry from "../../skills/sentry/skill.ts";
import { wholePages } from "../../src/kit/pages.ts";
import { callTool } from "../contracts/skill.ts";

const context = toolContext({});

const KINDS = ["page", "cursor", "offset"] as const;

/** A tool that lists rows as services do: by page number, by cursor, or by offset. */
function listing(rows: readonly JsonObject[], kind: (typeof KINDS)[number]) {
  return wholePages(
    defineTool({
      name: "list",
      description: "Lists rows",
      effect: "read",
      input_schema: z.strictObject({ limit: z.int().optional(), [kind]: z.any().optional() }),
      handler: (input) => {
        const { limit = 20, page = 1, [kind]: at = 0 } = input as { [name: string]: number | undefined };
        const from = kind === "page" ? (page - 1) * limit : Number(at);
        const isLast = from + limit >= rows.length;
        const next = kind === "page" ? { next_page: page + 1 } : { [`next_${kind}`]: from + limit };
        return trim({ rows: rows.slice(from, from + limit), ...(isLast ? {} : next) });
      },
    }),
  );
}

/** A row with this number of texts. */
function row(id: number, texts: number): JsonObject {
  return {
    id,
    ...Object.fromEntries(Array.from({ length: texts }, (_, index) => [`member_${index}`, "a".repeat(90)])),
  };
}

async function readAll(tool: ReturnType<typeof listing>, limit: number | undefined): Promise<unknown[]> {
  const seen: unknown[] = [];
  let input: JsonObject = limit === undefined ? {} : { limit };
  for (let calls = 0; calls < 500; calls++) {
    const result = (await tool.handler(input, context)) as JsonObject;
    seen.push(...(result["rows"] as JsonObject[]).map(({ id }) => id));
    const next = KINDS.find((kind) => result[`next_${kind}`] !== undefined);
    if (next === undefined) return seen;
    const { limit: size } = result;
    input = {
      ...input,
      ...(size === undefined ? {} : { limit: size }),
      [next]: result[`next_${next}`] ?? null,
    };
  }
  return seen;
}

test("pages by number that shrink twice stay large", async () => {
  const rows = Array.from({ length: 200 }, (_, id) => row(id, id < 100 ? 3 : 9));
  const first = (await listing(rows, "page").handler({ limit: 100 }, context)) as JsonObject;
  expect(first).toMatchObject({ limit: 32, rows: { length: 32 } });
  const later = { limit: 32, page: 5 };
  expect(await listing(rows, "page").handler(later, context)).toMatchObject({ limit: 16, rows: { length: 16 } });
});

test("pages of any size return every row once", async () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 120 });
  const limits = fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(sizes, limits, fc.constantFrom(...KINDS), async (members, limit, kind) => {
      const rows = members.map((count, id) => row(id, count));
      expect(await readAll(listing(rows, kind), limit)).toEqual(rows.map(({ id }) => id));
    }),
    { numRuns: 60 },
  );
});

test("a page has as many of Sentry's issues as their cursor skips, even if fifty do not fit", async () => {
  const asked: number[] = [];
  const loopback = await startLoopback((request, response) => {
    const limit = Number(new URL(request.url ?? "", "http://localhost").searchParams.get("limit"));
    asked.push(limit);
    response.setHeader("link", `<http://localhost/>; rel="next"; results="true"; cursor="0:${limit}:0"`);
    const members = Object.fromEntries(["title", "culprit", "permalink"].map((name) => [name, "x".repeat(2000)]));
    sendJson(
      response,
      200,
      Array.from({ length: limit }, (_, id) => ({
        id: String(id),
        shortId: `A-${id}`,
        metadata: { value: "x" },
        project: { slug: "web" },
        count: "1",
        userCount: 1,
        ...members,
      })),
    );
  });
  try {
    const config = { SENTRY_AUTH_TOKEN: "sntryu_canary0123456789", SENTRY_ORG: "acme", SENTRY_BASE_URL: loopback.url };
    const result = (await callTool(sentry, "list_issues", { limit: 50 }, toolContext({ config }))) as JsonObject;
    const rows = result["issues"] as readonly unknown[];
    expect(rows.length).toBeLessThan(50);
    expect(result["next_cursor"]).toBe(`0:${rows.length}:0`);
    expect(asked).toEqual([50, rows.length]);
  } finally {
    await loopback.close();
  }
});
