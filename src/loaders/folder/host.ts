import type { Json, JsonObject } from "../../core/base/values.ts";
import type { Environment } from "../../core/document/config.ts";
import type { ProcessMark } from "../../core/engine/ports.ts";
import type { JavaScriptCall, JavaScriptEnd, Sandbox } from "../../core/skill/sandbox.ts";
import type { McpServerConfig, ToolContext } from "../../core/skill/skill.ts";

/** Descriptor profile (`seed` is the published format, `current` today's practice), and what the operator allows. */
export interface FormatOptions {
  readonly descriptor: "current" | "seed";
  readonly allowScripts: boolean;
}

/** Services that run the tools of skills that are not built in. */
export interface LoaderHost {
  readonly env: Environment;
  /** Start directory of a skill's own MCP server. */
  readonly cwd: string;
  /** Folder with the commit's files that provides the documents. Undefined if the working directory does. */
  readonly documents?: string | undefined;
  readonly options: FormatOptions;
  /** Mark of this process, which is part of its temporary folders' names. */
  readonly self: ProcessMark;
  /** Registers work for the end of the process. Undefined if a later process cleans up. */
  readonly atExit?: ((work: () => void) => void) | undefined;
  /** Runs the operator's own programs as the operator, without isolation. */
  readonly runProgram: Sandbox["run"];
  /** Runs a skill's code in a sandbox. */
  readonly runForeign: Sandbox["run"];
  /**
   * Allows code in the sandbox to write to the working directory. If undefined, it is read-only. `keep` returns absolute
   * paths that stay read-only because their content would later be run or trusted.
   */
  readonly writable?: { readonly keep: () => readonly string[] };
  /** Runs JavaScript in an interpreter without system access. Used for scripts if no sandbox works. */
  readonly runJavaScript: (call: JavaScriptCall) => Promise<JavaScriptEnd>;
  readonly nodePath: string;
  /** Calls a tool of another skill with that skill's config. Validates input and output. */
  readonly invoke: Invoke;
  /** Calls one tool of an MCP server over a new connection. Undefined if connections are not allowed. */
  readonly callMcp?: CallMcp;
  /** Sends one message to an A2A agent. Undefined if connections are not allowed. */
  readonly askAgent?: (call: AgentInvocation, context: ToolContext) => Promise<Json>;
}

export interface Invocation {
  readonly skill: string;
  /** Defaults to the skill's first tool. */
  readonly tool?: string;
  readonly arguments: JsonObject;
  /** Version or range. Defaults to the latest version. */
  readonly version?: string;
  /** Refuses tools that write. */
  readonly effects?: "read";
}

export type Invoke = (call: Invocation, context: ToolContext) => Promise<Json>;

export interface McpInvocation {
  readonly id: string;
  readonly server: McpServerConfig;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly env: Environment;
  readonly cwd: string;
  readonly effects?: "read";
}

export interface AgentInvocation {
  readonly skill: string;
  readonly url: string;
  readonly arguments: JsonObject;
}

export type CallMcp = (call: McpInvocation, context: ToolContext) => Promise<Json>;
