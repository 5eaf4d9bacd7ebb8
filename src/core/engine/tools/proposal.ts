import { isObject, type Json } from "../../base/values.ts";
import { matchesGlob } from "../../skill/glob.ts";
import type { Tool } from "../../skill/skill.ts";
import { exposedName } from "../../skill/tool-names.ts";
import { outputOf, type RecordedCall } from "../event/call.ts";
import type { Proof } from "../event/patch.ts";
import { isToolOf } from "./own-tools.ts";
import { CHANGING, WORKSPACE } from "./workspace.ts";

/** The tool `propose_change` of the skill `workspace`, and the proof that a run has for a change. */

/** Always planned: a person sees the diff before a branch exists. Delivered by `apply`. */
export const PROPOSE_CHANGE: Omit<Tool, "handler"> = {
  name: "propose_change",
  description:
    "Proposes your changes in the working copy as a pull or merge request. It is planned, and created once a person has approved the diff.",
  effect: "write",
  idempotent: true,
  audience: "public",
  input_schema: {
    type: "object",
    properties: {
      title: { type: "string", minLength: 1, maxLength: 120, pattern: "^[^\\n\\r]*$", description: "One line" },
      body: { type: "string", maxLength: 60_000, description: "What changes and why, in Markdown" },
      draft: { type: "boolean", description: "Default: true" },
      labels: { type: "array", items: { type: "string", minLength: 1, maxLength: 50 }, maxItems: 20 },
    },
    required: ["title", "body"],
    additionalProperties: false,
  },
};

export const isProposal = isToolOf(WORKSPACE, PROPOSE_CHANGE.name);

const exposed = (name: string) => exposedName(WORKSPACE, name);
const RUN_COMMAND = exposed("run_command");
const EDITS = CHANGING.map(exposed);

/** Exit codes of a program that was not run: it cannot be executed, or was not found. */
const NOT_RUN: readonly number[] = [126, 127];

/**
 * Returns a proof by recorded results of the tools of `workspace`: a command that failed at the base, and passed with the
 * change as it is now. A pass before the last edit does not count. A failure does not count before the last edit of a
 * file that it took from the copy, or if the base lacks a file that the command names, because no test was run then.
 */
export function proofOf(calls: Iterable<RecordedCall>): Proof | undefined {
  const done = [...calls].filter((call) => outputOf(call) !== undefined);
  const edits = done.flatMap((call, index) => editedIn(call, index));
  const runs = done.flatMap((call, index) => ranCommand(call, index));
  // A command takes a file by name, or by the globs of `with`.
  const takes = ({ named, globs }: Ran, path: string) =>
    named.has(path) || globs.some((glob) => matchesGlob(glob, path));
  const isStale = (run: Ran) => edits.some(({ path, index }) => index > run.index && takes(run, path));
  for (const pass of runs.toReversed()) {
    if (pass.at !== "change" || pass.code !== 0 || pass.index < (edits.at(-1)?.index ?? -1)) continue;
    const atBase = runs.filter((run) => run.at === "base" && run.name === pass.name && !isStale(run));
    const fail = atBase.findLast(({ code, ran }) => ran && code !== 0);
    if (!fail || atBase.some(({ code }) => code === 0)) continue;
    const { command, files } = pass;
    const given = files.length === 0 ? {} : { files };
    return { command, ...given, before: fail.code, after: pass.code, references: [fail.ref, pass.ref] };
  }
  return undefined;
}

type Ran = ReturnType<typeof ranCommand>[number];

function editedIn(call: RecordedCall, index: number) {
  const output = outputOf(call);
  return EDITS.includes(call.tool) && isObject(output) ? [{ path: String(output.path), index }] : [];
}

function ranCommand(call: RecordedCall, index: number) {
  const { tool, ref, input } = call;
  const output = outputOf(call);
  if (tool !== RUN_COMMAND || !isObject(input) || !isObject(output)) return [];
  if (typeof output.exit_code !== "number" || typeof input.command !== "string") return [];
  const { command, at = "change" } = input;
  const code = output.exit_code;
  const files = textsIn(input.files).map(plainPath);
  const words = [...command.split(/[\s'"]+/), ...files].flatMap(namedIn);
  const named = new Set(words.map(plainPath));
  const ran = output.missing === undefined && !NOT_RUN.includes(code);
  const name = JSON.stringify([command, files]);
  return [{ command, files, at, name, named, globs: textsIn(input.with), code, ran, ref, index }];
}

function textsIn(list: Json | undefined): string[] {
  return Array.isArray(list) ? list.map(String) : [];
}

/** Returns what a word of a command may name: itself, or a part such as the file of `test/a.py::case` or `--file=a.js`. */
export function namedIn(word: string): string[] {
  return [word, ...word.split(/[:=,]+/)];
}

/** Returns a path as the results of edits name it: without `.` and empty segments. */
function plainPath(path: string): string {
  const segments = path.split("/").filter((segment) => segment !== "." && segment !== "");
  return segments.join("/");
}
