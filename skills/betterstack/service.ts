import type { ToolContext } from "skillflow";
import { type Ask, authorization, requiredKey, type Service, toolsWith, withService } from "skillflow/internal";

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

export const betterstackTool = toolsWith((context, work: (ask: Ask) => Promise<unknown>) =>
  withBetterStack(context, work),
);
