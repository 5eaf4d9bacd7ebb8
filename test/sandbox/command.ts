import type { ForeignCommand } from "../../src/core/skill/sandbox.ts";

/** A command with default values, so that a test names only what it is about. */
export function commandOf(parts: Partial<ForeignCommand> & Pick<ForeignCommand, "argv">): ForeignCommand {
  return {
    stdin: "",
    env: {},
    mounts: [],
    cwd: "/",
    network: false,
    signal: new AbortController().signal,
    ...parts,
    limits: { wallMs: 20_000, outputBytes: 1_000_000, ...parts.limits },
  };
}

/** A program of a few lines in JavaScript, with its arguments. */
export function nodeProgram(code: string, ...args: string[]): ForeignCommand["argv"] {
  return ["node", "-e", code, "--", ...args];
}
