import type { Environment } from "../../core/document/config.ts";
import type { ProcessMark } from "../../core/engine/ports.ts";
import type { McpServerConfig, ToolContext } from "../../core/skill/skill.ts";

/** Types of servers that published types reach. They are apart from the client, whose SDK users need not install. */

/** System calls to end processes. A negative id means a process group. */
export interface Processes {
  readonly self: ProcessMark;
  /** Sends a signal. Ignores processes that no longer exist. */
  readonly kill: (pid: number, signal: "SIGTERM" | "SIGKILL") => void;
  readonly isAlive: (pid: number) => boolean;
  /** Returns a function that lists living descendants of a process, and processes with `mark` in their environment. */
  readonly follow: (pid: number, mark: string) => () => readonly number[];
}

export interface ServerOptions {
  readonly id: string;
  readonly config: McpServerConfig;
  /** Source of the declared variables' values. Other variables do not reach the server. */
  readonly env: Environment;
  readonly cwd: string;
  /** Throws if the server's files are no longer those that were trusted. Called before each connection. */
  readonly check?: () => void;
  readonly fetch: typeof fetch;
  readonly processes: Processes;
  /** Receives findings as clauses about the server: `lists the tool "a" twice: the first counts`. */
  readonly onWarning: (message: string) => void;
}

/** Skill that a server offers by the skills extension of MCP (SEP-2640). Its text is by an untrusted author. */
export interface OfferedSkill {
  /** Address of its SKILL.md, which identifies it at the server. */
  readonly uri: string;
  /** Last segment of the skill's path. */
  readonly name: string;
  readonly description: string;
  /** Digests of all files, by address. */
  readonly digests: Readonly<Record<string, string>>;
  /** Paths of the files other than SKILL.md. */
  readonly files: readonly string[];
  /** Reason why the skill is left out. Undefined if it can be used. */
  readonly fault?: string | undefined;
  /** Reads the instruction. Throws if it does not match the digest and the frontmatter that the server listed. */
  instruction(context: Pick<ToolContext, "signal">): Promise<string>;
  /** Reads another file. Throws if it does not match its digest. */
  read(path: string, context: Pick<ToolContext, "signal">): Promise<string>;
}
