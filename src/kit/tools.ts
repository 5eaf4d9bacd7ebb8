import type * as z from "zod";
import type { AnyToolDefinition, ToolContext } from "../core/skill/skill.ts";

/** What the tools of services share: facts, to be spread into a tool, and the way that they work. */

// Without an origin, anyone may cause the results.

/** Reads the state at the time of the call. */
export const SNAPSHOT = { effect: "read", clock: "snapshot" } as const;
export const TEAM_SNAPSHOT = { ...SNAPSHOT, origin: "team" } as const;

/** Reads what happened between `from` and `to`. */
export const RANGE = { effect: "read", clock: "range", range: { from: "from", to: "to" } } as const;
export const TEAM_RANGE = { ...RANGE, origin: "team" } as const;

/** Reads what does not change. */
export const LASTING = { effect: "read", clock: "none" } as const;

/** Writes once: a repeated call finds its own work. */
export const WRITE_ONCE = { effect: "write", idempotent: true } as const;

interface ServiceTool<Client, Input extends z.ZodType> extends Omit<AnyToolDefinition, "handler" | "input_schema"> {
  readonly input_schema: Input;
  readonly work: (client: Client, input: z.infer<Input>, context: ToolContext) => Promise<unknown>;
}

/** Returns a function that defines tools which all work with one client. `run` opens it for a call. */
export function toolsWith<Client, Needed = unknown>(
  run: (context: ToolContext, work: (client: Client) => Promise<unknown>, input: Needed) => unknown,
) {
  return <Input extends z.ZodType<Needed>>({ work, ...tool }: ServiceTool<Client, Input>): AnyToolDefinition => ({
    ...tool,
    handler: (input: z.infer<Input>, context) => run(context, (client) => work(client, input, context), input),
  });
}
