import { SkillflowError } from "../../../core/base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../../core/base/values.ts";
import type { Environment } from "../../../core/document/config.ts";
import type { NodePaths } from "../../../core/engine/event/call.ts";
import { PROPOSE_CHANGE } from "../../../core/engine/tools/proposal.ts";
import { WORKSPACE, WORKSPACE_TOOLS } from "../../../core/engine/tools/workspace.ts";
import type { Skill, ToolContext } from "../../../core/skill/skill.ts";
import type { LoaderHost } from "../../folder/host.ts";
import { resolveCommit } from "../../sources/commit-files.ts";
import { listOf, runCommand } from "./command.ts";
import type { Copy } from "./copy.ts";
import { callFileTool } from "./files.ts";
import { NO_RULES } from "./paths.ts";

/** Returns the skill for the registry. A run carries out its tools, because the copy belongs to the run. */
export function workspaceSkill(env: Environment): Skill {
  const field = (name: string, description: string) => ({ env: `WORKSPACE_${name}`, secret: false, description });
  return {
    id: WORKSPACE,
    name: "Workspace",
    description: "Reads, changes and tests the repository's code in a private copy, which never touches the checkout.",
    category: "git",
    config: {
      commands: field("COMMANDS", "Commands that may run, one per line: exact words, * for one word, ** for the rest"),
      setup: field("SETUP", "Command that runs once before the others, such as npm ci --offline"),
      mounts: field("MOUNTS", "Folders of the checkout to show read-only to commands, one per line"),
      paths: field("PATHS", "Globs of the files that may be changed, one per line"),
      unprotect: field("UNPROTECT", "Globs of protected files that may be changed, one per line"),
    },
    tools: [...WORKSPACE_TOOLS, PROPOSE_CHANGE].map((tool) => ({ ...tool, handler: needsCopy })),
    instruction:
      "Work in your own copy of the repository, which starts at one commit. Look before you change: search, then read. Change little, with edit_file. Commands run on a throw-away copy of your files, so what they write is lost. Read diff before you say what you changed.",
    lacks: async ({ workDir }) =>
      resolveCommit({ root: workDir, env }, "HEAD") === undefined
        ? "the working directory is not in a git repository with a commit"
        : undefined,
  };
}

/** Handler of the tools that a run carries out on its copy. The fixtures of a test replace it. */
export function needsCopy(): never {
  throw new Error("only a node of a run has a working copy");
}

interface WorkspaceCall {
  readonly name: string;
  readonly input: JsonObject;
  readonly copy: Copy;
  readonly paths: NodePaths | undefined;
  readonly host: Pick<LoaderHost, "runForeign" | "self">;
  readonly context: ToolContext;
}

export function callWorkspace({ name, input, copy, paths, host, context }: WorkspaceCall): Json | Promise<Json> {
  if (name === "run_command") return runCommand({ input, copy, host, context });
  const { config, signal } = context;
  const rules = {
    ...{ paths: listOf(config.paths), unprotect: listOf(config.unprotect) },
    ...{ allow: paths?.allow, deny: paths?.deny ?? [], keep: paths?.keep ?? [] },
  };
  return callFileTool(name, { input, copy, rules, signal });
}

export interface RecordedEdit {
  readonly name: string;
  readonly input: JsonObject;
  readonly output: Json;
}

/** Repeats recorded edits. Throws `run.altered` if a file differs from what was recorded. */
export function repeatEdits(copy: Copy, edits: readonly RecordedEdit[]): void {
  // The edits were allowed when they were made, so that narrower settings since then do not matter.
  const rules = { ...NO_RULES, unprotect: ["**"] };
  const { signal } = new AbortController();
  for (const { name, input, output } of edits) {
    const again = callFileTool(name, { input, copy, rules, signal });
    const [then, now] = [output, again].map((told) => (isObject(told) ? told.sha256 : undefined));
    if (then !== undefined && then === now) continue;
    const what = `the working copy differs from the record at ${String(input.path)}`;
    const hint = "start a new run: the copy cannot be rebuilt from this record";
    throw new SkillflowError("run.altered", what, { hint });
  }
}
