import { isObject, type Json, type JsonObject } from "../../base/values.ts";
import { fillIn } from "../../document/fill.ts";
import type { WorkflowNode } from "../../document/workflow/node.ts";
import type { Tool } from "../../skill/skill.ts";
import { type NodePaths, outputOf, type RecordedCall } from "../event/call.ts";
import { isToolOf } from "./own-tools.ts";

/** The tools of the skill `workspace`: reading, changing and testing a run's own copy of the repository. */

export const WORKSPACE = "workspace";

const path = { type: "string", minLength: 1, maxLength: 4096, description: "Path in the copy, such as src/a.ts" };
const glob = { type: "string", maxLength: 1000, description: "Such as src/**/*.ts; without / a name at any depth" };
const count = (most: number, description: string) => ({ type: "integer", minimum: 1, maximum: most, description });

/** Describes a tool. All may be repeated after a crash, because the copy is then rebuilt from the recorded results. */
function tool(name: string, description: string, [properties, required]: readonly [JsonObject, string[]]) {
  const input_schema = { type: "object", properties, required, additionalProperties: false };
  const facts = { effect: "read", idempotent: true, live: true, contained: true, reads: "private" } as const;
  return { name, description, input_schema, ...facts };
}

export const WORKSPACE_TOOLS: readonly Omit<Tool, "handler" | "audience">[] = [
  tool("list_files", "Lists the files of your working copy.", [
    { path: { ...path, description: "Only files in this folder" }, glob },
    [],
  ]),
  tool(
    "read_file",
    "Reads a text file of your working copy: at most 2,000 lines or 50 KB, with next if there is more.",
    [{ path, line: count(10_000_000, "First line, from 1"), lines: count(2000, "Number of lines") }, ["path"]],
  ),
  tool("search_files", "Finds lines that match a regular expression. At most 200 matches.", [
    {
      pattern: { type: "string", minLength: 1, maxLength: 1000, description: "JavaScript regular expression" },
      glob,
      context: count(10, "Lines to show before and after each match"),
    },
    ["pattern"],
  ]),
  tool(
    "edit_file",
    "Replaces exact text in a file of your working copy. The text must occur once, unless all is true.",
    [
      {
        path,
        old: { type: "string", minLength: 1, description: "The exact text, with its white space" },
        new: { type: "string", description: "The text that replaces it" },
        all: { type: "boolean", description: "Replace each occurrence" },
      },
      ["path", "old", "new"],
    ],
  ),
  tool("write_file", "Writes a whole file of your working copy.", [
    { path, content: { type: "string", maxLength: 400 * 1024 } },
    ["path", "content"],
  ]),
  tool("delete_file", "Deletes a file of your working copy.", [{ path }, ["path"]]),
  tool(
    "run_command",
    "Runs one of the allowed commands on a copy of your files, without network. Its changes are dropped.",
    [
      {
        command: {
          type: "string",
          minLength: 1,
          maxLength: 4000,
          description: "Program and arguments, without a shell",
        },
        files: { type: "array", items: path, maxItems: 100, description: "Paths to append as arguments" },
        timeout: count(1800, "Seconds. Default: 300"),
        at: { type: "string", enum: ["base", "change"], description: "base: without your changes. Default: change" },
        with: { type: "array", items: glob, maxItems: 100, description: "For at: base, files of your copy to add" },
      },
      ["command"],
    ],
  ),
  tool("diff", "Shows your changes so far as a unified diff.", [
    { path: { ...path, description: "Only this file or folder" } },
    [],
  ]),
];

/** Names of the tools that change the copy. Their results have `path`, `change` and `sha256`. */
export const CHANGING: readonly string[] = ["edit_file", "write_file", "delete_file"];

export const changesCopy = isToolOf(WORKSPACE, ...CHANGING);
export const isCommand = isToolOf(WORKSPACE, "run_command");

export const DEFAULT_SECONDS = 300;
export const SETUP_MS = 30 * 60_000;
/** Time for copying files and starting the sandbox, so that a command ends by its own limit. */
const AROUND_MS = 60_000;

/** Returns the time limit of a call of `run_command`, with the set-up that may run before it. */
export function commandMs(input: Json, { setup = "" }: Readonly<Record<string, string>>): number {
  const seconds = isObject(input) && typeof input.timeout === "number" ? input.timeout : DEFAULT_SECONDS;
  return seconds * 1000 + AROUND_MS + (setup.trim() === "" ? 0 : SETUP_MS);
}

/** Returns what a node may change. `kept` are the calls of the nodes in `keep` so far. */
export function nodePaths(
  { paths = {} }: NonNullable<WorkflowNode["workspace"]>,
  { kept: calls, input }: { readonly kept: readonly RecordedCall[]; readonly input: JsonObject },
): NodePaths {
  const kept = calls.flatMap((call) => changedPath(outputOf(call)));
  const allow = paths.allow && (filledGlobs(paths.allow, input) ?? []);
  const deny = paths.deny ? (filledGlobs(paths.deny, input) ?? ["**"]) : [];
  return { allow, deny, keep: [...new Set(kept)] };
}

/** Fills in `{{input.NAME}}`, of which a list stands for its elements. Undefined if a value is missing. */
function filledGlobs(globs: readonly string[], input: JsonObject): readonly string[] | undefined {
  const filled = fillIn({ globs: [...globs] }, { input });
  return "problem" in filled ? undefined : [filled.values.globs ?? []].flat(2).map(String);
}

function changedPath(output: Json | undefined): string[] {
  if (!isObject(output) || typeof output.path !== "string" || typeof output.sha256 !== "string") return [];
  return typeof output.change === "string" ? [output.path] : [];
}
