import type * as z from "zod";
import type { AnyToolDefinition, ToolContext } from "../core/skill/skill.ts";

/** Definitions that the tools of services share. Without an origin among the facts, anyone may cause the results. */

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

/** Returns a skill's probe: `describe` makes a request with the client and returns what it saw. */
export function probeWith<Client>(
  run: (context: ToolContext, work: (client: Client) => Promise<unknown>) => Promise<unknown>,
  describe: (client: Client, context: ToolContext) => Promise<string>,
) {
  return async (context: ToolContext) => String(await run(context, (client) => describe(client, context)));
}
