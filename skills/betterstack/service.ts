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
    api: ["api"],
    keys: ["BETTERSTACK_API_TOKEN"],
    needs: "a global token, or a token of the right team",
    headers: (config) => authorization(undefined, requiredKey(config, "BETTERSTACK_API_TOKEN")),
    instead: "Check the id. It may belong to a different team than BETTERSTACK_API_TOKEN.",
  };
  return withService(service, context, (ask) =>
    work((asking) => ask({ effect: asking.body === undefined ? "read" : "write", ...asking })),
  );
}

export const betterstackTool = toolsWith((context, work: (ask: Ask) => Promise<unknown>) =>
  withBetterStack(context, work),
);
