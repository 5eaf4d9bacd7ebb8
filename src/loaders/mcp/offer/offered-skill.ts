import type { ToolContext } from "../../../core/skill/skill.ts";

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
