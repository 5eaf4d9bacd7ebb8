import type { Json, JsonObject } from "../../core/base/values.ts";
import type { Environment } from "../../core/document/config.ts";
import type { ProcessMark } from "../../core/engine/ports.ts";
import type { JavaScriptCall, JavaScriptEnd, Sandbox } from "../../core/skill/sandbox.ts";
import type { McpServerConfig, ToolContext } from "../../core/skill/skill.ts";

/** How descriptors behave where the document and today's practice differ, and what the operator allows. */
export interface FormatOptions {
  readonly descriptor: "current" | "seed";
  readonly allowScripts: boolean;
}

/** What the tools of foreign skills are carried out with. */
export interface LoaderHost {
  readonly env: Environment;
  /** Where a skill's own MCP server starts. */
  readonly cwd: string;
  /** The folder with the files of the commit that decides; undefined if the working directory decides. */
  readonly documents?: string | undefined;
  readonly options: FormatOptions;
  /** Ours: the names of temporary folders tell it. */
  readonly self: ProcessMark;
  /** Registers work for the end of the process; undefined if a later process clears up. */
  readonly atExit?: ((work: () => void) => void) | undefined;
  /** Runs the operator's own programs, as the operator: not isolated. */
  readonly runProgram: Sandbox["run"];
  /** Runs code that came with a skill: isolated. */
  readonly runForeign: Sandbox["run"];
  /** Where code in the sandbox may write to the working directory; undefined where it may only read it. */
  readonly writable?: WritableWorkDir;
  /** Runs JavaScript without anything of the system: for scripts, where `runForeign` has no sandbox that works. */
  readonly runJavaScript: (call: JavaScriptCall) => Promise<JavaScriptEnd>;
  /** The program that runs JavaScript. */
  readonly nodePath: string;
  /** Calls a tool of another skill, input and result checked, with that skill's config. */
  readonly invoke: Invoke;
  /** Calls one tool of an MCP server that is connected for this call; undefined where none may be. */
  readonly callMcp?: CallMcp;
  /** Sends one message to an A2A agent; undefined where none may be asked. */
  readonly askAgent?: AskAgent;
}

interface WritableWorkDir {
  /** Absolute: what is written there, or to a folder around it, would be run or trusted later. */
  readonly keep: () => readonly string[];
}

/** One call of one skill, the same whatever carries the skill out. */
export interface Invocation {
  readonly skill: string;
  /** Its only or first tool unless told. */
  readonly tool?: string;
  readonly arguments: JsonObject;
  /** A version or a range of versions; the latest unless told. */
  readonly version?: string;
  /** Refuses a tool that writes. */
  readonly effects?: "read";
}

export type Invoke = (call: Invocation, context: ToolContext) => Promise<Json>;

export interface McpInvocation {
  /** The skill that calls. */
  readonly id: string;
  readonly server: McpServerConfig;
  readonly tool: string;
  readonly arguments: JsonObject;
  /** What the variables that the server declares are valued from. */
  readonly env: Environment;
  /** Where a command starts. */
  readonly cwd: string;
  /** Refuses a tool that may write. */
  readonly effects?: "read";
}

export interface AgentInvocation {
  /** The skill that asks. */
  readonly skill: string;
  readonly url: string;
  readonly arguments: JsonObject;
}

type AskAgent = (call: AgentInvocation, context: ToolContext) => Promise<Json>;

export type CallMcp = (call: McpInvocation, context: ToolContext) => Promise<Json>;
