import type * as z from "zod";
import { fieldPath } from "../../base/diagnostic.ts";
import { isObject, type JsonSchema } from "../../base/values.ts";
import { strings } from "../field.ts";
import type { Effect, ToolReach } from "../skill.ts";
import {
  type DescriptorProfile,
  type Execution,
  RESOLVED_DENIALS,
  schemasOf,
  type ToolEntry,
  UNSUPPORTED,
} from "./descriptor-shapes.ts";

export type DescriptorPart = "tools" | "allowlist" | "execution";

/** Contents of a tools.json: tools that run command lines of allowlisted programs. */
export interface Descriptor {
  readonly tools: readonly DescribedTool[];
  readonly allowlist: Allowlist;
}

export type Allowlist = ReadonlyMap<string, readonly string[]>;

export interface DescribedTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonSchema;
  readonly reach: ToolReach;
  readonly effect?: Effect | undefined;
  /** Executions to choose from by `paramCondition`. With none, the tool is offered but fails. */
  readonly executions: readonly Execution[];
}

interface DescriptorFinding {
  readonly code:
    | "DESCRIPTOR_INVALID"
    | "DESCRIPTOR_UNSUPPORTED"
    | "DESCRIPTOR_MISMATCH"
    | "DESCRIPTOR_LAUNCHER"
    | "MANIFEST_KEY_UNKNOWN";
  readonly part: DescriptorPart;
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/**
 * Reads the parts of a descriptor. A malformed entry drops its tool, or with `seed` the whole descriptor. `binGroup` is
 * the index of the group of required programs that was found. It selects executions.
 */
export function parseDescriptor(
  parts: { readonly tools: unknown; readonly allowlist: unknown; readonly execution: unknown },
  profile: DescriptorProfile,
  binGroup: number | undefined,
): { readonly descriptor: Descriptor | undefined; readonly findings: readonly DescriptorFinding[] } {
  const schemas = schemasOf(profile);
  const isLenient = profile === "current";
  const tools = readEntries("tools", parts.tools, { schema: schemas.tool, isLenient });
  const execution = readEntries("execution", parts.execution, { schema: schemas.execution, isLenient });
  const allowlist = readAllowlist(parts.allowlist);
  const idle = idleDenials(execution.entries);
  const faults = [...tools.findings, ...execution.findings, ...idle, ...allowlist.findings];
  if (profile === "seed" && faults.length > 0) return { descriptor: undefined, findings: faults };
  const chosen = execution.entries.filter(
    ({ value: { condition } }) => condition === undefined || condition.binGroup === binGroup,
  );
  const others = execution.entries.filter((each) => !chosen.includes(each)).map(({ value }) => value.tool);
  const joined = joinTools(tools, { ...execution, entries: chosen }, new Set(others));
  const pairs = chosen.flatMap(({ value, index }) => checkPairs(value, index, allowlist.value));
  return {
    descriptor: { tools: joined.tools, allowlist: allowlist.value },
    findings: [...faults, ...joined.findings, ...pairs, ...launchers(allowlist.value)],
  };
}

// ---- entries

interface Entries<Value> {
  readonly entries: readonly { readonly index: number; readonly value: Value }[];
  readonly findings: readonly DescriptorFinding[];
  /** Names of tools that are dropped because an entry is malformed. */
  readonly lost: ReadonlySet<unknown>;
}

function readEntries<Value>(
  part: "tools" | "execution",
  list: unknown,
  { schema, isLenient }: { readonly schema: z.ZodType<Value>; readonly isLenient: boolean },
): Entries<Value> {
  const findings: DescriptorFinding[] = [];
  const lost = new Set<unknown>();
  if (list !== undefined && !Array.isArray(list)) findings.push(invalid(part, [], "must be a list"));
  const entries = (Array.isArray(list) ? list : []).flatMap((given: unknown, index) => {
    const whole = withoutNulls(given, part === "tools" ? 1 : 8);
    const known = isLenient ? withoutStrangers(whole, schema) : { value: whole, strange: [] };
    findings.push(...known.strange.map((path) => passedOver(part, [index, ...path])));
    const parsed = schema.safeParse(known.value);
    if (parsed.success) return [{ index, value: parsed.data }];
    if (isObject(given)) lost.add(given[part === "tools" ? "name" : "tool"]);
    findings.push(...parsed.error.issues.flatMap((issue) => describeIssue(part, index, issue)));
    return [];
  });
  return { entries, findings, lost };
}

/** Removes unknown keys, which version 0.5.0 ignores. */
function withoutStrangers(value: unknown, schema: z.ZodType): { value: unknown; strange: DescriptorFinding["path"][] } {
  const issues = schema.safeParse(value).error?.issues ?? [];
  const strange = issues.flatMap((issue) =>
    issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...(issue.path as (string | number)[]), key]) : [],
  );
  return { value: strange.reduce(withoutKey, value), strange };
}

function withoutKey(value: unknown, [key, ...rest]: DescriptorFinding["path"]): unknown {
  const change = (entries: [string, unknown][]) =>
    entries.flatMap(([name, inner]): [string, unknown][] => {
      if (name !== String(key)) return [[name, inner]];
      return rest.length === 0 ? [] : [[name, withoutKey(inner, rest)]];
    });
  if (Array.isArray(value)) return change(Object.entries(value)).map(([, inner]) => inner);
  return isObject(value) ? Object.fromEntries(change(Object.entries(value))) : value;
}

function passedOver(part: DescriptorPart, path: DescriptorFinding["path"]): DescriptorFinding {
  const message = `${fieldPath([part, ...path])} is not a key that this version knows; it is ignored`;
  return { code: "MANIFEST_KEY_UNKNOWN", part, path, message };
}

/** Returns warnings about denial keys that have no pattern to compare with. */
function idleDenials(entries: Entries<Execution>["entries"]): DescriptorFinding[] {
  return entries.flatMap(({ index, value: { args } }) =>
    args.flatMap((mapping, at) =>
      RESOLVED_DENIALS.filter((key) => mapping[key] !== undefined && mapping.denyPattern === undefined).map((key) =>
        passedOver("execution", [index, "args", at, key]),
      ),
    ),
  );
}

function withoutNulls(value: unknown, depth: number): unknown {
  if (depth === 0) return value;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, depth - 1));
  if (!isObject(value)) return value;
  const given = Object.entries(value).filter(([, item]) => item !== null);
  return Object.fromEntries(given.map(([key, item]) => [key, withoutNulls(item, depth - 1)]));
}

function describeIssue(part: DescriptorPart, index: number, issue: z.core.$ZodIssue): DescriptorFinding[] {
  const path = [index, ...(issue.path as (string | number)[])];
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => invalid(part, [...path, key], "is not a key of the format"));
  }
  const { message } = issue;
  const finding = invalid(part, path, message.charAt(0).toLowerCase() + message.slice(1));
  return [
    issue.code === "custom" && issue.params === UNSUPPORTED ? { ...finding, code: "DESCRIPTOR_UNSUPPORTED" } : finding,
  ];
}

function invalid(part: DescriptorPart, path: DescriptorFinding["path"], message: string): DescriptorFinding {
  return { code: "DESCRIPTOR_INVALID", part, path, message: `${fieldPath([part, ...path])} ${message}` };
}

function readAllowlist(given: unknown): { readonly value: Allowlist; readonly findings: DescriptorFinding[] } {
  const value = new Map<string, readonly string[]>();
  if (given === undefined) return { value, findings: [] };
  if (!isObject(given)) return { value, findings: [invalid("allowlist", [], "must be a map of programs")] };
  const findings = Object.entries(given).flatMap(([binary, list]) => {
    const subcommands = strings().safeParse(list);
    if (subcommands.success) value.set(binary, subcommands.data);
    return subcommands.success ? [] : [invalid("allowlist", [binary], "must be a list of subcommands")];
  });
  return { value, findings };
}

// ---- matching the parts

/** Joins tools with their executions. Reports those without a counterpart. */
function joinTools(
  tools: Entries<ToolEntry>,
  { entries, lost }: Entries<Execution>,
  carriedElsewhere: ReadonlySet<string>,
): { readonly tools: DescribedTool[]; readonly findings: DescriptorFinding[] } {
  const findings: DescriptorFinding[] = [];
  const mismatch = (part: DescriptorPart, path: DescriptorFinding["path"], message: string) => {
    findings.push({ code: "DESCRIPTOR_MISMATCH", part, path, message });
  };
  const joined = new Map<string, DescribedTool>();
  const named = new Set<unknown>([...tools.entries.map(({ value }) => value.name), ...tools.lost]);
  for (const { index, value } of tools.entries) {
    const { name, description, parameters: input_schema, effect, ...reach } = value;
    const executions = entries.filter((each) => each.value.tool === name).map((each) => each.value);
    const defaults = executions.filter(({ paramCondition }) => paramCondition === undefined);
    if (joined.has(name)) mismatch("tools", [index], `tool "${name}" is defined twice; the first is used`);
    else if (lost.has(name))
      mismatch("tools", [index], `tool "${name}" is left out: one of its execution entries is malformed`);
    else if (executions.length === 0 && carriedElsewhere.has(name))
      mismatch("tools", [index], `tool "${name}" is left out: it has no execution entry for the installed programs`);
    else if (defaults.length > 1)
      mismatch("tools", [index], `tool "${name}" is left out: it has two execution entries`);
    else joined.set(name, { name, description, input_schema, reach, effect, executions });
    if (joined.get(name)?.executions.length === 0)
      mismatch("tools", [index], `tool "${name}" fails when it is called: it has no execution entry`);
  }
  for (const { index, value } of entries) {
    if (!named.has(value.tool)) mismatch("execution", [index], `there is no tool "${value.tool}"`);
  }
  return { tools: [...joined.values()], findings };
}

/** Checks that the allowlist contains every command that an execution may run. */
function checkPairs(each: Execution, index: number, allowlist: Allowlist): DescriptorFinding[] {
  const helpers = [each.postProcess, ...each.args.map((mapping) => mapping.resolveCommand)];
  const pairs = [
    [each.binary, each.subcommand],
    ...each.args.map((mapping) => [each.binary, mapping.subcommandOverride]),
    ...helpers.map((found) => [found?.binary, found?.subcommand]),
  ];
  return pairs.flatMap(([binary, subcommand]) => {
    if (binary === undefined || subcommand === undefined) return [];
    const refusal = refusedBy(allowlist, binary, subcommand);
    if (refusal === undefined) return [];
    return [
      { code: "DESCRIPTOR_MISMATCH", part: "execution", path: [index], message: `tool "${each.tool}": ${refusal}` },
    ];
  });
}

export function refusedBy(allowlist: Allowlist, binary: string, subcommand: string): string | undefined {
  const subcommands = allowlist.get(binary);
  if (!subcommands) return `binary not allowlisted: ${binary}`;
  return subcommands.includes(subcommand) ? undefined : `subcommand not allowlisted: ${binary} ${subcommand}`;
}

/** Programs that run any command in their arguments, so that the allowlist offers little protection. */
const LAUNCHERS =
  /^(?:(?:ba|da|z|k|c|tc|fi|a)?sh|env|xargs|sudo|doas|su|nohup|nice|timeout|setsid|ssh|find|parallel|busybox|eval|exec|(?:python|perl|ruby|node|deno|bun|php|lua|g?awk|tclsh|osascript|pwsh|powershell)[\d.]*)$/;

function launchers(allowlist: Allowlist): DescriptorFinding[] {
  return [...allowlist.keys()].flatMap((binary) => {
    const what = /[\\/]/.test(binary)
      ? "is a path, not a program's bare name"
      : "runs any code that its arguments contain";
    if (!/[\\/]/.test(binary) && !LAUNCHERS.test(binary)) return [];
    return [
      { code: "DESCRIPTOR_LAUNCHER", part: "allowlist", path: [binary], message: `allowlist: "${binary}" ${what}` },
    ];
  });
}
