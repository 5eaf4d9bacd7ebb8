import { type Diagnostic, errorAt } from "../../base/diagnostic.ts";
import { parsePath } from "../../base/path.ts";
import { didYouMean } from "../../base/values.ts";
import { readCondition } from "../check/condition-mistakes.ts";
import { pathsOf } from "../value-rule.ts";
import type { Workflow } from "../workflow/workflow.ts";
import { type ListenFile, type ListenSource, SLACK_INPUTS } from "./listen-file.ts";
import { ROOTS, templatePaths } from "./mapping.ts";

/** Finds errors in a `listen.yml` that its schema cannot express. */

export function checkListenFile({ sources = {}, slack }: ListenFile): Diagnostic[] {
  if (Object.keys(sources).length === 0 && !slack) return [errorAt("SCHEMA", [], "sources and slack are both missing")];
  return Object.entries(sources).flatMap(([name, source]) => checkSource(source, ["sources", name]));
}

function checkSource(source: ListenSource, at: Diagnostic["path"]): Diagnostic[] {
  return [
    ...templatePaths(source).flatMap(([field, path]) => checkRoot(path, ROOTS, [...at, "input", field])),
    ...checkWhen(source, [...at, "when"]),
    ...(source.fingerprint === undefined
      ? []
      : checkRoot(source.fingerprint, new Set([...ROOTS, "input"]), [...at, "fingerprint"])),
  ];
}

function checkWhen({ when }: ListenSource, at: Diagnostic["path"]): Diagnostic[] {
  if (when === undefined) return [];
  const rule = readCondition(when, ROOTS);
  if ("message" in rule) return [errorAt("SCHEMA", at, `when ${rule.message}`, rule.hint)];
  return pathsOf(rule).flatMap((path) => checkRoot(path, ROOTS, at));
}

/** Checks the root of a path. `[n]` is removed first, because only templates support it. */
function checkRoot(path: string, roots: ReadonlySet<string>, at: Diagnostic["path"]): Diagnostic[] {
  const parsed = parsePath(path.replaceAll(/\[\d+\](?=\.|$)/g, ""));
  if (!parsed)
    return [errorAt("SCHEMA", at, `"${path}" is not a path: write body.key.key, where a key can end in [*]`)];
  const root = parsed.segments[0]?.key ?? "";
  if (roots.has(root)) return [];
  const hint = didYouMean(root, roots) ?? `write body.${path}`;
  return [errorAt("UNKNOWN_PATH_ROOT", at, `"${path}" does not begin with any of ${[...roots].join(", ")}`, hint)];
}

/** Returns the input fields that a mention in Slack passes to a workflow. */
export function slackFields({ inputs }: Pick<Workflow, "inputs">): (typeof SLACK_INPUTS)[number][] {
  return SLACK_INPUTS.filter((field) => !inputs || Object.hasOwn(inputs, field));
}

type Starting = Pick<ListenSource, "workflow" | "input" | "cool_down" | "fingerprint">;

/** Checks a source, or a channel of Slack, against the workflow that it starts. */
export function checkFields(source: Starting, workflow: Workflow, at: readonly string[]): Diagnostic[] {
  const { inputs, cool_down } = workflow;
  const given = Object.keys(source.input ?? {});
  const unknown = given.flatMap((field) => {
    if (!inputs || Object.hasOwn(inputs, field)) return [];
    const declared = Object.keys(inputs);
    const hint = didYouMean(field, declared, '"') ?? `declared are ${declared.join(", ")}`;
    const message = `the workflow ${source.workflow} declares no input "${field}"`;
    return [errorAt("INPUT_UNKNOWN", [...at, "input", field], message, hint)];
  });
  const missing = Object.entries(inputs ?? {}).flatMap(([field, { required, default: usual }]) => {
    if (!required || usual !== undefined || given.includes(field)) return [];
    return [errorAt("INPUT_MISSING", [...at, "input"], `the workflow ${source.workflow} needs the input "${field}"`)];
  });
  const isKeyless = source.cool_down !== undefined && source.fingerprint === undefined && cool_down === undefined;
  const keyless = isKeyless ? [errorAt("SCHEMA", [...at, "cool_down"], KEYLESS)] : [];
  return [...unknown, ...missing, ...keyless];
}

const KEYLESS = "cool_down needs a fingerprint: the key that alerts of one cause share";
