import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import { isObject } from "../../../core/base/values.ts";
import { strictly } from "../../folder/format.ts";
import { faultOfFile } from "../../folder/lint-contents.ts";
import { type Manifest, type Path, unknownKeys, unreadable } from "../../folder/manifest.ts";
import type { SkillFolder } from "../../folder/skill-folder.ts";
import type { OpenDescriptor } from "./descriptor-file.ts";

type Entry = { readonly [key: string]: unknown };

/** Checks a descriptor: what a run `found`, missing descriptions, and arguments that do not match their parameters. */
export function checkDescriptor(folder: SkillFolder, open: OpenDescriptor, found: readonly Diagnostic[]): Diagnostic[] {
  const { tools, execution } = open;
  if ("fault" in tools) return strictly(found);
  const { value } = tools;
  const whole = open.isWhole && isObject(value) ? value : undefined;
  const listed = whole ? whole.tools : value;
  const place = whole ? { folder, manifest: tools, path: ["execution"] } : undefined;
  const strict = [
    ...unknownKeys(tools.problem, whole, { known: ["tools", "allowlist", "execution"] }),
    ...checkTools(tools, listed, whole ? ["tools"] : []),
    ...(place ? checkExecutions(place, { tools: listed, execution: whole?.execution }) : []),
    ...(whole ? [] : checkCompanions(folder, tools, execution)),
  ];
  const files = new Set(strict.flatMap(({ code, file }) => (WHOLE.has(code) ? [file] : [])));
  return [...strict, ...strictly(found.filter(({ file }) => !files.has(file)))];
}

/** Findings that make a whole file unusable, and replace all others about it. */
const WHOLE: ReadonlySet<string> = new Set(["MANIFEST_UNREADABLE", "TOOLS_SHAPE"]);

function checkCompanions(folder: SkillFolder, tools: Manifest, execution: OpenDescriptor["execution"]): Diagnostic[] {
  const message = "allowlist.json is missing next to tools.json";
  const found = folder.names.has("allowlist.json") ? [] : [tools.problem("error", "TOOLS_SHAPE", [], message)];
  if (!execution) return found;
  if ("fault" in execution) return [...found, unreadable(execution)];
  const parts = { tools: tools.value, execution: execution.value };
  return [...found, ...checkExecutions({ folder, manifest: execution, path: [] }, parts)];
}

function entriesOf(list: unknown): readonly (readonly [index: number, entry: Entry])[] {
  return (Array.isArray(list) ? list : []).flatMap((entry: unknown, index) =>
    isObject(entry) ? [[index, entry] as const] : [],
  );
}

function checkTools({ problem }: Manifest, tools: unknown, base: Path): Diagnostic[] {
  return entriesOf(tools).flatMap(([index, { name, description }]) => {
    if (typeof description === "string" && description.trim() !== "") return [];
    const message = `tool ${String(name ?? index + 1)} has no description: a model cannot know what it does`;
    return [problem("warning", "TOOL_DESCRIPTION", [...base, index], message)];
  });
}

interface Place {
  readonly folder: SkillFolder;
  readonly manifest: Manifest;
  readonly path: Path;
}

function within(place: Place, ...keys: Path): Place {
  return { ...place, path: [...place.path, ...keys] };
}

function checkExecutions(
  executions: Place,
  { tools, execution }: { readonly tools: unknown; readonly execution: unknown },
): Diagnostic[] {
  const declared = new Map(entriesOf(tools).map(([, { name, parameters }]) => [name, parameters]));
  return entriesOf(execution).flatMap(([index, entry]) => {
    const place = within(executions, index);
    return [
      ...entriesOf(entry.args).flatMap(([at, mapping]) => checkArgument(within(place, "args", at), mapping)),
      ...checkParameters(place, entry, declared.get(entry.tool)),
    ];
  });
}

function checkArgument(place: Place, mapping: Entry): Diagnostic[] {
  const { path } = place;
  const { problem } = place.manifest;
  const { kind = "positional", flag, flagIfTrue, flagIfFalse, subcommandOverride, resolveCommand } = mapping;
  const warn = (key: string, message: string) => problem("warning", "ARGUMENT_FLAG", [...path, key], message);
  const found: Diagnostic[] = [];
  if (kind === "flagifboolean" && [flagIfTrue, flagIfFalse, subcommandOverride].every((said) => said === undefined)) {
    found.push(warn("kind", "a flagifboolean needs flagIfTrue, flagIfFalse or both"));
  }
  if (kind !== "flagifboolean" && (flagIfTrue !== undefined || flagIfFalse !== undefined)) {
    found.push(warn("kind", "flagIfTrue and flagIfFalse count only with kind flagifboolean"));
  }
  if (kind !== "flag" && kind !== "tempfile" && flag !== undefined) {
    found.push(warn("flag", "flag counts only with kind flag or tempfile"));
  }
  if (typeof flag === "string" && flag.startsWith("-")) {
    found.push(warn("flag", `flag must be a name without dashes: "${flag.replace(/^-+/, "")}"`));
  }
  if (isObject(resolveCommand)) {
    found.push(...checkResolve(within(place, "resolveCommand"), resolveCommand));
  }
  return found;
}

function checkResolve({ folder, manifest: { problem }, path }: Place, resolve: Entry): Diagnostic[] {
  const { script, binary, subcommand } = resolve;
  const refuse = (message: string) => [problem("error", "RESOLVE_COMMAND", path, message)];
  if (script === undefined) {
    const isWhole = typeof binary === "string" && typeof subcommand === "string";
    const message = "resolveCommand resolves nothing without a script, or a binary and a subcommand";
    return isWhole ? [] : [problem("warning", "RESOLVE_COMMAND", path, message)];
  }
  if (typeof script !== "string" || /\.\.|[/\\]/.test(script)) {
    return refuse("a script must be the name of a file in scripts/, without folders");
  }
  const candidates = [script, `${script.replace(/\.[^.]*$/, "")}.sh`].map((name) => `scripts/${name}`);
  const faults = candidates.map((path) => faultOfFile(folder, path));
  if (faults.includes(undefined)) return [];
  return refuse(`there is no file scripts/${script}${faults.includes("outside") ? " inside of the folder" : ""}`);
}

/** Compares a tool's arguments with the schema of its parameters, which is undefined if there is no such tool. */
function checkParameters({ manifest: { problem }, path }: Place, entry: Entry, schema: unknown): Diagnostic[] {
  if (!isObject(schema)) return [];
  const args = entriesOf(entry.args);
  const properties = isObject(schema.properties) ? Object.keys(schema.properties) : [];
  const required = Array.isArray(schema.required) ? schema.required : [];
  const found = args.flatMap(([at, { param, kind = "positional", optional, absentDefault }]) => {
    const place = [...path, "args", at, "param"];
    if (kind === "literal") return [];
    const isNeeded = kind === "positional" && optional !== true && absentDefault === undefined;
    if (typeof param === "string" && !properties.includes(param)) {
      const message = `tool ${String(entry.tool)} has no parameter "${param}"`;
      return [problem(isNeeded ? "error" : "warning", "ARGUMENT_PARAMETER", place, message)];
    }
    if (!isNeeded || required.includes(param)) return [];
    const message = `"${String(param)}" is not required, but a call without it fails: it is positional`;
    return [problem("warning", "ARGUMENT_PARAMETER", place, message)];
  });
  const { present = [], absent = [] } = isObject(entry.paramCondition) ? entry.paramCondition : {};
  // Scripts and commands get parameters through `$name`.
  const substituted = [...JSON.stringify(entry).matchAll(/"\$([A-Za-z_]\w*)"/g)].map(([, name]) => name);
  const used = new Set([...args.map(([, { param }]) => param), ...[present, absent].flat(), ...substituted]);
  const unused = properties.filter((name) => !used.has(name));
  return [
    ...found,
    ...unused.map((name) => {
      const message = `parameter "${name}" of tool ${String(entry.tool)} is not passed as an argument`;
      return problem("warning", "ARGUMENT_PARAMETER", path, message);
    }),
  ];
}
