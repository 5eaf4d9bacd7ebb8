import { messageOf, SkillflowError } from "../../core/base/errors.ts";
import { type Json, nearest, toJson } from "../../core/base/values.ts";
import { callHandler, type Tool, type ToolContext } from "../../core/skill/skill.ts";
import type { CallMcp, McpInvocation } from "../folder/host.ts";
import type { McpOptions } from "./client.ts";

/** Reason why no server is called without a connection. */
export const UNCONNECTED = "a dry run does not connect to MCP servers";

/** Creates a function that calls MCP tools. Each call has its own connection. */
export function mcpCaller(processes: McpOptions["processes"]): CallMcp {
  return async (call, context) => {
    if (context.offline && call.server.command !== undefined) {
      const what = `the MCP server of ${call.id} is a command, which was not started: the run is offline`;
      throw new SkillflowError("offline.refused", what);
    }
    const { openMcp } = await import("./client.ts");
    const { id, server, env, cwd } = call;
    const onWarning = (message: string) => context.logger.warn(`the MCP server of ${id} ${message}`);
    const { fetch, signal } = context;
    const connecting = openMcp({ id, config: server, env, cwd, fetch, processes, signal, onWarning });
    const connection = await connecting.catch((error: unknown) => {
      signal.throwIfAborted();
      throw new SkillflowError("server.failed", messageOf(error), { cause: error, acted: "no" });
    });
    try {
      return await callTool(connection.tools, call, context);
    } finally {
      await connection.close();
    }
  };
}

async function callTool(tools: readonly Tool[], call: McpInvocation, context: ToolContext): Promise<Json> {
  const tool = tools.find(({ name }) => name === call.tool);
  if (!tool) {
    const names = tools.map(({ name }) => name);
    const near = nearest(call.tool, names);
    const meant = near ? ` (did you mean ${near}?)` : "";
    throw new SkillflowError("tool.unknown", `the MCP server of ${call.id} has no tool ${call.tool}${meant}`);
  }
  if (call.effects === "read" && tool.effect === "write") {
    const what = `the tool ${call.tool} of the MCP server of ${call.id} may write`;
    throw new SkillflowError("call.refused", `${what}, and only reading is allowed here`);
  }
  return toJson(await callHandler(tool, call.arguments, context));
}
