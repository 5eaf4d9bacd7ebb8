import { isObject, type Json } from "../core/base/values.ts";
import type { AnyToolDefinition, ToolContext } from "../core/skill/skill.ts";
import { cutOf } from "./http.ts";

/** Input of a tool that lists rows in pages, by cursor, by offset or by the number of a page. */
interface Paged {
  readonly limit?: number;
  readonly page?: number;
}

type PagedTool = Pick<AnyToolDefinition, "effect" | "handler" | "input_schema" | "output_schema">;

const MOST_ROUNDS = 4;

/**
 * Wraps a tool that lists rows in pages of `limit`. If rows do not fit into its result, it asks the service for fewer,
 * because the next page would skip the rows that were left out. Pages by number then have a size that divides the one
 * before, and the result's `limit` gives it.
 */
export function wholePages<T extends PagedTool>(tool: T): T {
  const { handler } = tool;
  if (tool.effect !== "read" || !isPaged(tool)) return tool;
  const wrapped = async (input: Paged, context: ToolContext) => {
    let asked = input;
    let result = (await handler(asked, context)) as Json;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const fewer = fewerOf(asked, result);
      if (!fewer) return result;
      context.signal.throwIfAborted();
      const next = (await handler(fewer, context)) as Json;
      // Without a next page, the smaller one would only lose rows.
      if (!isObject(next) || !Object.keys(next).some((name) => name.startsWith("next"))) return result;
      const isByNumber = input.page !== undefined || "next_page" in next;
      // A copy would lose what `trim` found out about the result.
      result = isByNumber && !cutOf(next) ? { ...next, limit: fewer.limit } : next;
      asked = fewer;
    }
    return result;
  };
  return { ...tool, handler: wrapped };
}

/** Returns true for a tool that takes a limit, and a cursor, an offset, a page, or the `next` of its result. */
function isPaged({ input_schema, output_schema }: PagedTool): boolean {
  const given = membersOf(input_schema);
  if (!("limit" in given)) return false;
  return ["cursor", "offset", "page"].some((name) => name in given) || "next" in membersOf(output_schema);
}

function membersOf(schema: unknown): object {
  if (typeof schema !== "object" || schema === null) return {};
  const members = "shape" in schema ? schema.shape : "properties" in schema ? schema.properties : undefined;
  return typeof members === "object" && members !== null ? members : {};
}

/** Returns the input for a smaller page that begins at the same row. Returns undefined if all rows fit. */
function fewerOf(asked: Paged, result: Json): (Paged & { readonly limit: number }) | undefined {
  const cut = cutOf(result);
  if (!cut || !isObject(result) || cut.kept < 1) return undefined;
  const isByNumber = asked.page !== undefined || "next_page" in result;
  // A power of two has the divisors that later pages may need.
  const first = isByNumber ? 2 ** Math.floor(Math.log2(cut.kept)) : cut.kept;
  if (asked.page === undefined || asked.page === 1) return { ...asked, limit: first };
  const size = asked.limit ?? ("next_page" in result ? cut.of : undefined);
  if (size === undefined) return undefined;
  let limit = Math.min(cut.kept, size);
  while (size % limit !== 0) limit--;
  return { ...asked, limit, page: ((asked.page - 1) * size) / limit + 1 };
}
