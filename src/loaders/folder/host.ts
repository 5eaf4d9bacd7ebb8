import type { Environment } from "../../core/config.ts";
import type { Diagnostic } from "../../core/errors.ts";
import type { JavaScriptCall, JavaScriptEnd, ProcessMark, Sandbox } from "../../core/ports.ts";
import type { Format, McpServerConfig, Skill, SkillKind, ToolContext } from "../../core/skill.ts";
import type { Json, JsonObject } from "../../core/values.ts";
import type { SkillPackage } from "../formats/skills-protocol/skill-package.ts";
import type { RunnablePackage } from "./package-run.ts";
import type { SkillFolder } from "./skill-folder.ts";

/** One way to write a skill as a folder. */
export interface FolderFormat {
  readonly format: Format;
  /** Decides by the folder's file names, and by a file's outer shape where names are not enough (skill-formats 6.1). */
  recognises(folder: SkillFolder): boolean;
  /** Reads the folder; nothing of it is imported or run. The diagnostic says why the whole skill is skipped. */
  load(folder: SkillFolder, host: LoaderHost): LoadedSkill | Diagnostic;
}

/** A skill as its folder has it. */
export interface LoadedSkill {
  /** Handlers start what they need when they are called, and not before. */
  readonly skill: Skill;
  readonly format: Format;
  readonly kind: SkillKind;
  /** As written, unknown keys kept; empty where there is none. */
  readonly frontmatter: { readonly [key: string]: unknown };
  /** Its tools run code of the folder, or programs that the folder names: needs trust (trust 6). */
  readonly runsCode: boolean;
  /** Other skills that its tools call. */
  readonly calls?: readonly string[];
  /** The tool of another skill that its own tool passes every call on to. */
  readonly boundTo?: Pick<Invocation, "skill" | "tool">;
  /** What can be run by itself; Skills Protocol packages alone. */
  readonly package?: SkillPackage;
  /** Its Python, as code that was written for one run imports it. */
  readonly mounts?: readonly RunnablePackage[];
  /** What it lacks beside config, such as a program on the PATH. */
  readonly unavailable?: string;
  /** What trust lets run beside the tools, as people are told before they give it. */
  readonly code?: readonly string[];
  /** A server that its own tool starts or asks, and the folder where a command starts. */
  readonly server?: { readonly config: McpServerConfig; readonly cwd: string };
  /** The skill that the folder's module defines: imported on the first call, which only trust allows. */
  readonly importCode?: () => Promise<Skill>;
  readonly diagnostics: readonly Diagnostic[];
}

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
  readonly options: FormatOptions;
  /** Ours: the names of temporary folders tell it. */
  readonly self: ProcessMark;
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

export interface WritableWorkDir {
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

export type AskAgent = (call: AgentInvocation, context: ToolContext) => Promise<Json>;

export type CallMcp = (call: McpInvocation, context: ToolContext) => Promise<Json>;
