import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import { isObject } from "../../../core/base/values.ts";
import { REACH_KEYS } from "../../../core/skill/formats/tool-reach.ts";
import { faultOfFile } from "../../folder/lint-contents.ts";
import { type Manifest, openManifest, type Path, unknownKeys } from "../../folder/lint-manifest.ts";
import type { SkillFolder } from "../../folder/skill-folder.ts";

const ROOT_KEYS = ["tools", "allowlist", "execution"];
const TOOL_KEYS = ["name", "description", "parameters", "effect", ...REACH_KEYS];
const EXECUTION_KEYS = [
  ...["tool", "binary", "subcommand", "args"],
  ...["binaryWrapper", "condition", "paramCondition", "successExitCodes", "postProcess"],
  ...["hintConditions", "sideRead", "maxOutputLines", "truncationHint"],
];
const ARGUMENT_KEYS = [
  ...["param", "kind", "flag", "flagIfTrue", "flagIfFalse", "normalizeNewlines", "resolveCommand"],
  ...["optional", "split", "absentDefault", "subcommandOverride", "denyPattern", "value"],
  ...["readPath", "writePath", "unsafePath", "denyResolveCommand", "denyAlwaysResolve"],
  "disambiguateAfterSkippedPositionals",
];
const RESOLVE_KEYS = ["script", "binary", "subcommand", "args"];

type Entry = { readonly [key: string]: unknown };

/** Checks what the descriptor loader does not: unknown keys, and arguments that do not match their parameters. */
export function checkToolDescriptor(folder: SkillFolder): Diagnostic[] {
  const manifest = openManifest(folder, "tools.json");
  if ("severity" in manifest) return [manifest];
  if (Array.isArray(manifest.value)) return checkThreeFiles(folder, manifest);
  if (!isObject(manifest.value)) {
    return [manifest.problem("error", "TOOLS_SHAPE", [], "tools.json must be an object or an array of tools")];
  }
  const { tools, execution } = manifest.value;
  return [
    ...unknownKeys(manifest.problem, manifest.value, { known: ROOT_KEYS }),
    ...checkTools(manifest, tools, ["tools"]),
    ...checkExecutions({ folder, manifest, path: ["execution"] }, { tools, execution }),
  ];
}

/** Checks a tools.json that is an array of tools, with their executions in two files next to it. */
function checkThreeFiles(folder: SkillFolder, manifest: Manifest): Diagnostic[] {
  const found = checkTools(manifest, manifest.value, []);
  if (!folder.names.has("allowlist.json")) {
    found.push(manifest.problem("error", "TOOLS_SHAPE", [], "allowlist.json is missing beside tools.json"));
  }
  const execution = openManifest(folder, "execution.json");
  if ("severity" in execution) return [...found, execution];
  const parts = { tools: manifest.value, execution: execution.value };
  return [...found, ...checkExecutions({ folder, manifest: execution, path: [] }, parts)];
}

function entriesOf(list: unknown): readonly (readonly [index: number, entry: Entry])[] {
  return (Array.isArray(list) ? list : []).flatMap((entry: unknown, index) =>
    isObject(entry) ? [[index, entry] as const] : [],
  );
}

function checkTools(manifest: Manifest, tools: unknown, base: Path): Diagnostic[] {
  return entriesOf(tools).flatMap(([index, tool]) => {
    const path = [...base, index];
    const { name, description } = tool;
    const isDescribed = typeof description === "string" && description.trim() !== "";
    const message = `tool ${String(name ?? index + 1)} has no description: a model cannot tell what it is for`;
    return [
      ...unknownKeys(manifest.problem, tool, { known: TOOL_KEYS, path }),
      ...(isDescribed ? [] : [manifest.problem("warning", "TOOL_DESCRIPTION", path, message)]),
    ];
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
    const args = entriesOf(entry.args);
    return [
      ...unknownKeys(place.manifest.problem, entry, { known: EXECUTION_KEYS, path: place.path }),
      ...args.flatMap(([at, mapping]) => checkArgument(within(place, "args", at), mapping)),
      ...checkParameters(place, { entry, args, schema: declared.get(entry.tool) }),
    ];
  });
}

function checkArgument(place: Place, mapping: Entry): Diagnostic[] {
  const { path } = place;
  const { problem } = place.manifest;
  const { kind = "positional", flag, flagIfTrue, flagIfFalse, subcommandOverride, resolveCommand } = mapping;
  const warn = (key: string, message: string) => problem("warning", "ARGUMENT_FLAG", [...path, key], message);
  const found = unknownKeys(problem, mapping, { known: ARGUMENT_KEYS, path });
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
    found.push(warn("flag", `flag is a name without dashes: "${flag.replace(/^-+/, "")}"`));
  }
  if (isObject(resolveCommand)) {
    const inner = within(place, "resolveCommand");
    found.push(...unknownKeys(problem, resolveCommand, { known: RESOLVE_KEYS, path: inner.path }));
    found.push(...checkResolve(inner, resolveCommand));
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
    return refuse("a script is the name of a file in scripts/, without folders");
  }
  const candidates = [script, `${script.replace(/\.[^.]*$/, "")}.sh`].map((name) => `scripts/${name}`);
  const faults = candidates.map((path) => faultOfFile(folder, path));
  if (faults.includes(undefined)) return [];
  return refuse(`there is no file scripts/${script}${faults.includes("outside") ? " inside of the folder" : ""}`);
}

/** Returns the parameters that a script or command gets through `$name`. */
function substituted(entry: Entry): string[] {
  const names = JSON.stringify(entry).matchAll(/"\$([A-Za-z_]\w*)"/g);
  return [...names].map(([, name = ""]) => name);
}

interface Joined {
  readonly entry: Entry;
  readonly args: ReturnType<typeof entriesOf>;
  /** Schema of the tool's parameters. Undefined if there is no such tool. */
  readonly schema: unknown;
}

function checkParameters({ manifest: { problem }, path }: Place, { entry, args, schema }: Joined): Diagnostic[] {
  if (!isObject(schema)) return [];
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
  const used = new Set([...args.map(([, { param }]) => param), ...[present, absent].flat(), ...substituted(entry)]);
  const unused = properties.filter((name) => !used.has(name));
  return [
    ...found,
    ...unused.map((name) => {
      const message = `parameter "${name}" of tool ${String(entry.tool)} becomes no argument`;
      return problem("warning", "ARGUMENT_PARAMETER", path, message);
    }),
  ];
}
