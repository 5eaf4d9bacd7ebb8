import { isObject, type Json } from "../../base/values.ts";
import type { Tool, ToolDescriptor } from "../../skill/skill.ts";
import { exposedName } from "../../skill/tool-names.ts";
import type { RecordedCall } from "../event/call.ts";
import type { Proof } from "../event/patch.ts";
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

export function isProposal({ skill, name }: Pick<ToolDescriptor, "skill" | "name">): boolean {
  return skill === WORKSPACE && name === PROPOSE_CHANGE.name;
}

const exposed = (name: string) => exposedName(WORKSPACE, name);
const RUN_COMMAND = exposed("run_command");
const EDITS = CHANGING.map(exposed);

/**
 * Returns a proof by the run's own recorded results: a command that failed at the base, and passed with the change as
 * it is now. A pass before the last edit does not count, nor a failure before the last edit of the test's files.
 */
export function proofOf(calls: Iterable<RecordedCall>): Proof | undefined {
  const done = [...calls].filter(({ outcome }) => outcome && "output" in outcome);
  const lastEdit = done.findLastIndex(({ tool }) => EDITS.includes(tool));
  const runs = done.flatMap((call, index) => ranCommand(call, index));
  for (const pass of runs.toReversed()) {
    if (pass.at !== "change" || pass.code !== 0 || pass.index < lastEdit) continue;
    const lastTestEdit = done.findLastIndex(({ tool, outcome }) => EDITS.includes(tool) && isOf(pass.files, outcome));
    const atBase = runs.filter((one) => one.at === "base" && one.name === pass.name && one.index > lastTestEdit);
    const fail = atBase.findLast(({ code }) => code !== 0);
    if (!fail || atBase.some(({ code }) => code === 0)) continue;
    const { command, files } = pass;
    const given = files.length === 0 ? {} : { files };
    return { command, ...given, before: fail.code, after: pass.code, references: [fail.ref, pass.ref] };
  }
  return undefined;
}

function isOf(files: readonly string[], outcome: RecordedCall["outcome"]): boolean {
  const output = outcome && "output" in outcome ? outcome.output : undefined;
  return isObject(output) && files.includes(String(output.path));
}

function ranCommand({ tool, ref, input, outcome }: RecordedCall, index: number) {
  if (tool !== RUN_COMMAND || !isObject(input) || !outcome || !("output" in outcome)) return [];
  const { output } = outcome;
  if (!isObject(output) || typeof output.exit_code !== "number" || typeof input.command !== "string") return [];
  const files = Array.isArray(input.files) ? input.files.map((file: Json) => String(file)) : [];
  const { command, at = "change" } = input;
  return [{ command, files, at, name: JSON.stringify([command, files]), code: output.exit_code, ref, index }];
}
