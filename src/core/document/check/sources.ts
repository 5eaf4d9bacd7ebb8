import { type DiagnosticCode, fieldPath } from "../../base/diagnostic.ts";
import type { Hint } from "../../base/options.ts";
import { isObject, type JsonObject } from "../../base/values.ts";
import type { NodeSources } from "../workflow/source.ts";
import type { Workflow } from "../workflow/workflow.ts";

/** Field that holds a Source, as written. In the run's input it may have any shape. */
export interface SourceField {
  /** Path such as `["nodes", "collect", "context", 1]`. It ends in 0 for a single runtime Source. */
  readonly path: readonly (string | number)[];
  readonly from: "document" | "input";
  readonly value: unknown;
}

/** Lists every Source field of a run: runtime, then workflow, then each node. */
export function sourceFields(workflow: Workflow, input: JsonObject): readonly SourceField[] {
  const nodes = Object.entries(workflow.nodes).flatMap(([id, node]): SourceField[] => [
    ...single(["nodes", id, "instruction"], node.instruction),
    ...single(["nodes", id, "approval", "ask"], node.approval?.ask),
    ...listed(["nodes", id, "rules"], "document", sourcesOf(node.rules)),
    ...listed(["nodes", id, "context"], "document", sourcesOf(node.context)),
  ]);
  return [
    ...listed(["input", "rules"], "input", runtimeSources(input, "rules")),
    ...listed(["input", "context"], "input", runtimeSources(input, "context")),
    ...listed(["rules"], "document", workflow.rules ?? []),
    ...listed(["context"], "document", workflow.context ?? []),
    ...nodes,
  ];
}

function single(path: SourceField["path"], value: unknown): SourceField[] {
  return value === undefined ? [] : [{ path, from: "document", value }];
}

function listed(path: SourceField["path"], from: SourceField["from"], values: readonly unknown[]): SourceField[] {
  return values.map((value, index) => ({ path: [...path, index], from, value }));
}

function sourcesOf(sources: NodeSources | undefined): readonly unknown[] {
  if (sources === undefined) return [];
  return Array.isArray(sources) ? sources : sources.sources;
}

function runtimeSources(input: JsonObject, name: string): readonly unknown[] {
  const value = Object.hasOwn(input, name) ? input[name] : undefined;
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/** Returns the fields of a run's input that look like Sources but are used as data, as readable paths. */
export function likeSources(input: JsonObject): readonly string[] {
  return ["rules", "context"].flatMap((name) =>
    listed(["input", name], "input", runtimeSources(input, name)).flatMap(({ path, value }) =>
      isLikeSource(value) ? [Array.isArray(input[name]) ? fieldPath(path) : `input.${name}`] : [],
    ),
  );
}

function isLikeSource(value: unknown): boolean {
  if (typeof value === "string") return /^(?:\.{0,2}\/|http)/.test(value);
  const keys = isObject(value) ? Object.keys(value) : [];
  return keys.length === 1 && keys.every((key) => Object.hasOwn(TAGS, key));
}

type SourceForm =
  | { readonly kind: "inline"; readonly text: string }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "url"; readonly url: string };

export interface SourceProblem {
  readonly code: Extract<DiagnosticCode, `SOURCE_${string}`>;
  readonly message: string;
  readonly hint: Hint;
}

/** Classifies a Source. The content of a tagged form is never classified again. */
export function parseSource(value: unknown): SourceForm | SourceProblem {
  if (typeof value === "string") {
    if (value === "") return misshapen("is empty");
    if (/^(?:\.{1,2})?\//.test(value)) return TAGS.file(value);
    return /^https?:\/\//.test(value) ? TAGS.url(value) : TAGS.inline(value);
  }
  if (!isObject(value)) return misshapen(`is ${Array.isArray(value) ? "a list" : String(value)}, not a Source`);
  const keys = Object.keys(value);
  const tag = keys.find((key) => Object.hasOwn(TAGS, key));
  const extra = keys.filter((key) => key !== tag && !(tag === "url" && key === "type"));
  if (tag === undefined) return misshapen("has none of the keys inline, file and url");
  if (extra.length > 0) return misshapen(`has ${extra.join(", ")} next to ${tag}`);
  const text = value[tag];
  if (typeof text !== "string" || text === "") return misshapen(`has a ${tag} that is not a string`);
  if (value["type"] !== undefined && value["type"] !== "fetch") {
    const message = `has the type ${JSON.stringify(value["type"])}`;
    return { code: "SOURCE_INVALID_TYPE", message, hint: "Use fetch, which is the only type, or omit it." };
  }
  return TAGS[tag as keyof typeof TAGS](text);
}

const TAGS = {
  inline: (text: string): SourceForm => ({ kind: "inline", text }),
  file: (path: string): SourceForm => ({ kind: "file", path }),
  url: (url: string): SourceForm => ({ kind: "url", url }),
};

function misshapen(message: string): SourceProblem {
  const hint = "Write text, a ./path, an https:// address, or one of {inline: …}, {file: …} and {url: …}.";
  return { code: "SOURCE_INVALID_SHAPE", message, hint };
}
