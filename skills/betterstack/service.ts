import type { ToolContext } from "skillflow";
import { type Ask, authorization, requiredKey, type Service, toolsWith, withService } from "skillflow/internal";
import * as z from "zod";
import { nextPage, pagination } from "./fields.ts";

/**
 * Runs a tool's work on one of Better Stack's REST APIs. A request with a body counts as a write, and paths are below
 * the version, such as `["v2", "monitors"]`.
 */
export function withBetterStack(
  context: ToolContext,
  work: (ask: Ask) => Promise<unknown>,
  product: "uptime" | "telemetry" = "uptime",
) {
  const service: Service = {
    name: "Better Stack",
    address: "BETTERSTACK_API_URL",
    usual: `https://${product}.betterstack.com`,
    keys: ["BETTERSTACK_API_TOKEN"],
    headers: (config) => authorization(undefined, requiredKey(config, "BETTERSTACK_API_TOKEN")),
    instead: "Check the id. It may belong to a different team than BETTERSTACK_API_TOKEN.",
  };
  const needs = "a global token, or a token of the right team";
  return withService(service, context, (ask) =>
    work((asking) => {
      const effect = asking.body === undefined ? "read" : "write";
      return ask({ effect, needs, ...asking, path: ["api", ...asking.path] });
    }),
  );
}

const MOST_PAGES = 5;

/** Reads the pages of a list that tools show as a whole. */
export async function readAll<Item extends z.ZodType>(
  ask: Ask,
  { item, query, path }: { readonly item: Item; readonly path: readonly string[]; readonly query?: object },
) {
  const items: z.infer<Item>[] = [];
  let page: number | undefined;
  for (let read = 0; read < MOST_PAGES; read++) {
    const answer = await ask({
      path,
      query: { ...query, page },
      answer: z.object({ data: z.array(item), pagination }),
    });
    items.push(...answer.data);
    page = nextPage(answer);
    if (page === undefined) break;
  }
  return { items, isWhole: page === undefined };
}

export const betterstackTool = toolsWith((context, work: (ask: Ask) => Promise<unknown>) =>
  withBetterStack(context, work),
);
