import { join } from "node:path";
import { afterEach } from "vitest";
import type { McpServerConfig } from "../../../src/core/skill/skill.ts";
import { type McpConnection, type McpOptions, openMcp } from "../../../src/loaders/mcp/client.ts";
import { followProcess } from "../../../src/sandbox/processes.ts";
import { toolContext } from "../../../src/testing.ts";
import { type Answers, stdioServer } from "../../services/mcp.ts";

/** Servers connected for one test. */

const ROOT = join(import.meta.dirname, "../../..");

export const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

export interface Opened {
  readonly connection: McpConnection;
  readonly warnings: string[];
  call(tool: string, input?: object, context?: Parameters<typeof toolContext>[0]): Promise<unknown>;
}

export async function open(config: McpServerConfig, options: Partial<McpOptions> = {}): Promise<Opened> {
  const warnings: string[] = [];
  const connection = await openMcp({
    id: "served",
    config,
    env: { PATH: process.env.PATH, HOME: "/", LANG: "C" },
    cwd: ROOT,
    fetch,
    processes: { self: { pid: process.pid, host: "here", started: "1" }, kill, isAlive: exists, follow: followProcess },
    onWarning: (message) => warnings.push(message),
    ...options,
  });
  cleanups.push(connection.close);
  const call: Opened["call"] = async (name, input = {}, context = {}) => {
    const tool = [...connection.tools, ...connection.readers].find((candidate) => candidate.name === name);
    return tool?.handler(input as never, toolContext(context));
  };
  return { connection, warnings, call };
}

export const openScript = (answers: Answers, options?: Partial<McpOptions>, notes?: string) =>
  open(stdioServer(answers, notes), options);

function kill(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  if (exists(pid)) process.kill(pid, signal);
}

export function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
