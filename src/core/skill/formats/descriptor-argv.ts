import { inputError, NothingDone } from "../../base/errors.ts";
import { PATTERN_TOO_SLOW, withinSecond } from "../../base/schema/time-bound.ts";
import { isObject, type Json, type JsonObject } from "../../base/values.ts";
import type { DescribedTool } from "./descriptor.ts";
import type { Argument, DescriptorProfile, Execution } from "./descriptor-shapes.ts";

/** Value that one mapping takes from a call's arguments. */
export type ArgumentValue =
  | TextValue
  | { readonly kind: "boolean"; readonly mapping: Argument; readonly isOn: boolean };

interface TextValue {
  readonly kind: "text";
  readonly mapping: Argument;
  readonly text: string;
}

/** Checks that the arguments are an object that the tool declares. Throws otherwise. */
export function checkArguments(tool: DescribedTool, input: Json, profile: DescriptorProfile): JsonObject {
  if (!isObject(input)) throw inputError("arguments must be an object");
  const { properties } = tool.input_schema;
  const declared = isObject(properties) ? properties : {};
  const stranger = Object.keys(input).find((name) => !Object.hasOwn(declared, name));
  if (profile === "current" && stranger !== undefined) {
    throw inputError(`tool ${tool.name}: undeclared parameter '${stranger}' (not in schema)`);
  }
  return input as JsonObject;
}

/** Returns the execution whose condition the arguments meet, or the one without a condition. */
export function chooseExecution(tool: DescribedTool, input: JsonObject): Execution {
  if (tool.executions.length === 0) throw new NothingDone(`unknown tool: ${tool.name}`);
  const isGiven = (name: string) => (own(input, name) ?? null) !== null;
  const matching = tool.executions.filter(({ paramCondition }) => {
    if (!paramCondition) return false;
    return paramCondition.present.every(isGiven) && !paramCondition.absent.some(isGiven);
  });
  if (matching.length > 1) throw inputError(`tool ${tool.name}: several execution entries match these parameters`);
  const chosen = matching[0] ?? tool.executions.find(({ paramCondition }) => paramCondition === undefined);
  if (!chosen) throw inputError(`tool ${tool.name}: no execution entry matches these parameters`);
  return chosen;
}

/** Returns the subcommand of a call. A boolean parameter may override the execution's own. */
export function chooseSubcommand({ args, subcommand }: Execution, input: JsonObject): string {
  const overriding = args.filter((mapping) => mapping.subcommandOverride !== undefined && isOn(mapping, input));
  return overriding.at(-1)?.subcommandOverride ?? subcommand;
}

/** Reads the value of each mapping, in file order. Omits mappings without a value. */
export function readArguments(
  { args }: Execution,
  input: JsonObject,
  profile: DescriptorProfile,
): readonly ArgumentValue[] {
  let isSkipped = false;
  return args.flatMap((mapping): ArgumentValue[] => {
    const { kind, resolveCommand, optional, disambiguateAfterSkippedPositionals } = mapping;
    if (kind === "literal") return [{ kind: "text", mapping, text: mapping.value ?? "" }];
    if (kind === "flagifboolean") return [{ kind: "boolean", mapping, isOn: isOn(mapping, input) }];
    const given = own(input, mapping.param);
    const value = given ?? mapping.absentDefault ?? given;
    const isAbsent = (value ?? null) === null && (kind === "flag" || optional === true);
    if (isAbsent && !(resolveCommand && optional)) {
      isSkipped ||= kind === "positional";
      return [];
    }
    if (!isAbsent && value === undefined) throw inputError(`missing parameter: ${mapping.param}`);
    if (!isAbsent && profile === "current" && given === value) refuseStrayPath(mapping, value as Json);
    const text: TextValue = { kind: "text", mapping, text: isAbsent ? "" : textOf(mapping, value as Json) };
    if (kind !== "positional") return [text];
    const separates = isSkipped && disambiguateAfterSkippedPositionals === true;
    isSkipped = false;
    return separates ? [END_OF_OPTIONS, text] : [text];
  });
}

const END_OF_OPTIONS: ArgumentValue = {
  kind: "text",
  mapping: { param: "", kind: "literal", value: "--" },
  text: "--",
};

/** Fills in the file's defaults for absent arguments. */
export function withDefaults({ args }: Execution, input: JsonObject): JsonObject {
  const absent = args.filter(
    ({ kind, param, absentDefault }) =>
      absentDefault !== undefined &&
      kind !== "workingdir" &&
      kind !== "literal" &&
      (own(input, param) ?? null) === null,
  );
  return { ...input, ...Object.fromEntries(absent.map(({ param, absentDefault }) => [param, absentDefault ?? null])) };
}

export function own(input: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(input, name) ? input[name] : undefined;
}

export function asText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Returns true for true, the text `true` in any case, and nonzero integers. */
function isOn(mapping: Argument, input: JsonObject): boolean {
  const value = own(input, mapping.param) ?? mapping.absentDefault;
  if (typeof value === "string") return value.toLowerCase() === "true";
  if (typeof value === "number") return Number.isInteger(value) && value !== 0;
  return value === true;
}

function textOf({ param, normalizeNewlines }: Argument, value: Json): string {
  if (value === null || typeof value === "object") {
    throw inputError(`parameter ${param} must be a string, number, or boolean`);
  }
  if (typeof value !== "string") return JSON.stringify(value);
  if (value.includes("\0")) throw inputError(`parameter ${param} contains a NUL character`);
  return normalizeNewlines ? value.replaceAll("\\n", "\n").replaceAll("\\t", "\t") : value;
}

/** Throws if a parameter that is not marked as a path holds a path that leads outside. */
function refuseStrayPath({ kind, param, split, readPath, writePath, unsafePath }: Argument, value: Json): void {
  if (kind !== "positional" && kind !== "flag") return;
  if (typeof value !== "string" || readPath || writePath || unsafePath) return;
  if (!(split ? words(value) : [value]).some(leadsOut)) return;
  throw inputError(`parameter ${param} looks like a path that leads out of the working directory; use a relative one`);
}

function leadsOut(path: string): boolean {
  const segments = path.split(/[\\/]/);
  return /^[/~]|file:\/\//i.test(path) || segments.includes("..") || segments.includes(".git");
}

/** Splits a resolved value into words if its mapping says so. Throws if the deny pattern matches any of them. */
export function splitValue(value: TextValue, tool: string): readonly TextValue[] {
  const { param, split, denyPattern } = value.mapping;
  const parts = split ? words(value.text) : [value.text];
  if (denyPattern !== undefined) {
    const pattern = new RegExp(denyPattern, "u");
    const isDenied = withinSecond(() => [value.text, ...parts].some((part) => pattern.test(part)));
    // A pattern that timed out counts as a match.
    if (isDenied !== false) {
      const why = isDenied ? "" : `: ${PATTERN_TOO_SLOW}`;
      throw inputError(`tool ${tool}: parameter '${param}' is denied by the pattern ${denyPattern}${why}`);
    }
  }
  return parts.map((text) => ({ ...value, text }));
}

/** Builds the command line of an execution from resolved values. `directory` is undefined if no parameter sets it. */
export function buildCommand(
  execution: Execution,
  subcommand: string,
  values: readonly ArgumentValue[],
  profile: DescriptorProfile,
) {
  const fixed = [execution.binary, ...subcommandTokens(subcommand, profile)];
  let optionsEnded = fixed.includes("--");
  const args = values.flatMap((value): string[] => {
    if (value.kind === "text" && value.mapping.kind === "positional") return positional(value, optionsEnded);
    const tokens = tokensOf(value);
    // This is text of the file, not a parameter's value.
    if (tokens.length === 1 && tokens[0] === "--") optionsEnded = true;
    return tokens;
  });
  const [program, ...rest] = [...(execution.binaryWrapper ?? []), ...fixed];
  const textFor = (kind: Argument["kind"]) =>
    values.flatMap((value) => (value.kind === "text" && value.mapping.kind === kind ? [value.text] : []))[0];
  return {
    argv: [program ?? execution.binary, ...rest, ...args] as const,
    stdin: textFor("stdin") ?? "",
    directory: textFor("workingdir"),
  };
}

/** Splits a subcommand into words, so that it may contain flags. The seed profile keeps it as one token. */
export function subcommandTokens(subcommand: string, profile: DescriptorProfile): string[] {
  return profile === "seed" ? [subcommand] : words(subcommand);
}

function words(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

function positional({ mapping, text }: TextValue, optionsEnded: boolean): string[] {
  if (optionsEnded || !text.startsWith("-")) return [text];
  throw inputError(
    `parameter ${mapping.param} begins with "-" and would be read as an option; ` +
      'only the value of a flag, or a value that the tool\'s mapping puts after "--", can do so',
  );
}

function tokensOf(value: ArgumentValue): string[] {
  const { mapping } = value;
  if (value.kind === "boolean") {
    if (mapping.subcommandOverride !== undefined) return [];
    return [value.isOn ? mapping.flagIfTrue : mapping.flagIfFalse].filter((token) => token !== undefined);
  }
  if (mapping.kind === "literal") return [value.text];
  return mapping.kind === "flag" || mapping.kind === "tempfile" ? [flagName(mapping), value.text] : [];
}

/** Builds a flag. Ignores leading dashes. One character makes a short flag, but a parameter's own name a long one. */
function flagName({ flag, param }: Argument): string {
  const name = (flag ?? param).replace(/^-+/, "");
  return flag !== undefined && [...name].length === 1 ? `-${name}` : `--${name}`;
}

/**
 * Fills in the arguments of a helper (resolveCommand, postProcess). `current` replaces whole arguments `$name`, `seed`
 * replaces `$param` anywhere. Throws if a value would be read as an option.
 */
export function helperArguments(
  args: readonly string[],
  { value, input, profile }: { value: string | undefined; input: JsonObject; profile: DescriptorProfile },
): string[] {
  return args.map((arg) => {
    const filled = profile === "seed" ? arg.replaceAll("$param", () => value ?? "") : fillWhole(arg, value, input);
    if (!filled.startsWith("-") || arg.startsWith("-")) return filled;
    throw inputError(`the value ${JSON.stringify(filled.slice(0, 40))} would be read as an option`);
  });
}

function fillWhole(arg: string, value: string | undefined, input: JsonObject): string {
  if (arg === "$param" && value !== undefined) return value;
  const name = /^\$([A-Za-z_]\w*)$/.exec(arg)?.[1];
  return name === undefined ? arg : asText(own(input, name) ?? "");
}
