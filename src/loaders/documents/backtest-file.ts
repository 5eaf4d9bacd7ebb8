import { dirname, resolve } from "node:path";
import type { Diagnostic } from "../../core/base/diagnostic.ts";
import { type Fitting, isObject, type JsonObject } from "../../core/base/values.ts";
import { type BacktestCase, backtestCaseSchema, backtestFileSchema } from "../../core/outward/testing/backtest.ts";
import { parseDocument } from "./document-text.ts";
import { describeIssues } from "./schema-findings.ts";
import { placeNamed, readNamed, readValue } from "./test-file.ts";

interface Loaded {
  readonly cases: readonly BacktestCase[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Loads a file with one case or several. The real paths of what it names must be in `root`. */
export function loadBacktestFile(path: string, shownAs: string, root: string): Loaded {
  const read = readNamed(path, shownAs, root);
  if ("code" in read) return failed([{ ...read, severity: "error", path: [], file: shownAs }]);
  const { value, faults, place } = parseDocument(read.text, shownAs);
  if (faults.length > 0) return failed(faults);
  const isList = isObject(value) && "cases" in value;
  const issues = describeIssues(isList ? backtestFileSchema() : backtestCaseSchema(), value);
  if (issues.length > 0) return failed(place(issues));
  const file: Fitting<typeof backtestFileSchema> = isList
    ? backtestFileSchema().parse(value)
    : { cases: [backtestCaseSchema().parse(value)] };
  const { defaults = {} } = file;
  const problems: Diagnostic[] = [];
  const cases = file.cases.map((given, index): BacktestCase => {
    const at = isList ? ["cases", index] : [];
    const refuse: Refuse = (key, found) => void problems.push({ severity: "error", ...found, path: [...at, key] });
    const named = (key: "workflow" | "files", name: string | undefined) => {
      const found = name === undefined ? undefined : placeNamed(resolve(dirname(path), name), name, root);
      if (!found || "path" in found) return found?.path;
      refuse(key, found);
      return undefined;
    };
    const files = given.files ?? defaults.files;
    const copied = Object.entries(typeof files === "string" ? { ".": files } : (files ?? {}));
    const places = copied.map(([to, name]) => [to, named("files", name) ?? name] as const);
    return {
      id: given.id,
      workflow: named("workflow", given.workflow ?? defaults.workflow ?? file.workflow),
      input: inputOf(given.input, { path, root, refuse }),
      as_of: given.as_of ?? defaults.as_of,
      files: files === undefined ? undefined : Object.fromEntries(places),
      path: read.path,
      truth: given.truth,
    };
  });
  const ids = cases.map(({ id }) => id);
  for (const [index, id] of ids.entries()) {
    if (ids.indexOf(id) === index) continue;
    const message = `an earlier case has the id "${id}"`;
    problems.push({ severity: "error", code: "SCHEMA", path: ["cases", index, "id"], message });
  }
  return { cases, diagnostics: place(problems) };
}

function failed(diagnostics: readonly Diagnostic[]): Loaded {
  return { cases: [], diagnostics };
}

type Refuse = (key: string, found: Pick<Diagnostic, "code" | "message" | "hint">) => void;

function inputOf(
  given: JsonObject | string,
  { path, root, refuse }: { readonly path: string; readonly root: string; readonly refuse: Refuse },
): JsonObject {
  if (typeof given !== "string") return given;
  const named = given.slice(1);
  const found = readValue(resolve(dirname(path), named), named, root);
  if ("code" in found) refuse("input", found);
  else if (isObject(found.value)) return found.value as JsonObject;
  else refuse("input", { code: "SCHEMA", message: `${named} does not contain a map` });
  return {};
}
