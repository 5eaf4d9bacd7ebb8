import * as z from "zod";
import { fieldPath } from "../diagnostic.ts";
import { checkJsonSchema } from "../schema/json-schema.ts";
import { type Fitting, isObject, type JsonSchema, lazy } from "../values.ts";

/** `seed` is the document to the letter, `current` is version 0.5.0 of the program that reads such files. */
export type DescriptorProfile = "current" | "seed";
export type DescriptorPart = "tools" | "allowlist" | "execution";

/** A tools.json: tools that are command lines of allowlisted programs (skill-formats 3). */
export interface Descriptor {
  readonly tools: readonly DescribedTool[];
  readonly allowlist: Allowlist;
}

/** Program -> its subcommands that may run. */
export type Allowlist = ReadonlyMap<string, readonly string[]>;

export interface DescribedTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonSchema;
  /** Those with a `paramCondition` first ask for theirs. Without any the tool is offered, and fails. */
  readonly executions: readonly Execution[];
}

/** What is wrong with a descriptor, at its place in one of its parts. */
export interface DescriptorFinding {
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

interface DescriptorText {
  readonly tools: unknown;
  readonly allowlist: unknown;
  readonly execution: unknown;
}

/**
 * Reads the parts of a descriptor. A malformed entry costs its tool, in `seed` the whole descriptor. `binGroup` is the
 * group of required programs that was found, which chooses among executions.
 */
export function parseDescriptor(
  parts: DescriptorText,
  profile: DescriptorProfile,
  binGroup: number | undefined,
): { readonly descriptor: Descriptor | undefined; readonly findings: readonly DescriptorFinding[] } {
  const schemas = schemasOf(profile);
  const isLenient = profile === "current";
  const tools = readEntries("tools", parts.tools, { schema: schemas.tool, isLenient });
  const execution = readEntries("execution", parts.execution, { schema: schemas.execution, isLenient });
  const allowlist = readAllowlist(parts.allowlist);
  const faults = [...tools.findings, ...execution.findings, ...allowlist.findings];
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

// ---- the entries

const UNSUPPORTED = "is not supported";

const texts = lazy(() => z.array(z.string()));

const helperFields = lazy(() => ({
  script: z.string().optional(),
  binary: z.string().optional(),
  subcommand: z.string().optional(),
}));
const seedHelper = lazy(() => z.strictObject({ ...helperFields(), args: texts().default([]) }));
const helper = lazy(() => z.strictObject({ ...helperFields(), args: texts().default([]) }));
const postProcess = lazy(() => z.strictObject({ ...helper().shape, emptyIsResult: z.boolean().optional() }));
/** A script of the skill, or an allowlisted command, that turns one text into another. */
export type Helper = Fitting<typeof helper>;

const flag = lazy(() => z.string().refine((name) => name.replace(/^-+/, "") !== "", "is no name of a flag"));
const seedArgument = lazy(() =>
  z.strictObject({
    param: z.string(),
    kind: z.enum(["positional", "flag", "flagifboolean"]).default("positional"),
    flag: flag().optional(),
    flagIfTrue: z.string().optional(),
    flagIfFalse: z.string().optional(),
    normalizeNewlines: z.boolean().optional(),
    resolveCommand: seedHelper().optional(),
  }),
);

const argument = lazy(() =>
  z
    .strictObject({
      ...seedArgument().shape,
      param: z.string().default(""),
      kind: z
        .enum(["positional", "flag", "flagifboolean", "stdin", "workingdir", "tempfile", "literal"])
        .default("positional"),
      resolveCommand: helper().optional(),
      value: z.string().optional(),
      optional: z.boolean().optional(),
      split: z.boolean().optional(),
      absentDefault: z.union([z.string(), z.number(), z.boolean()]).optional(),
      subcommandOverride: z.string().optional(),
      denyPattern: z.string().refine(isPattern, "is no regular expression").optional(),
      readPath: z.boolean().optional(),
      writePath: z.boolean().optional(),
      unsafePath: z.boolean().optional(),
      denyResolveCommand: z.unknown().optional(),
      denyAlwaysResolve: z.unknown().optional(),
      disambiguateAfterSkippedPositionals: z.boolean().optional(),
    })
    .refine(({ kind, param }) => kind === "literal" || param !== "", { path: ["param"], message: "is required" })
    .refine(({ kind, value }) => kind !== "literal" || value !== undefined, { path: ["value"], message: "is required" })
    .refine(({ kind, split }) => !split || kind === "positional", { path: ["split"], message: "needs a positional" })
    .refine(({ kind, subcommandOverride }) => subcommandOverride === undefined || kind === "flagifboolean", {
      path: ["subcommandOverride"],
      message: "needs a flagifboolean",
    })
    .superRefine(({ denyPattern, ...mapping }, { addIssue }) => {
      // A value that is not looked up would pass where the pattern is to stop it.
      if (denyPattern === undefined) return;
      const found = RESOLVED_DENIALS.find((key) => mapping[key] !== undefined && mapping[key] !== false);
      if (found) addIssue({ code: "custom", path: [found], message: UNSUPPORTED });
    }),
);
/** How one parameter becomes arguments; the document's table, and what 0.5.0 added. */
export type Argument = Fitting<typeof argument>;

const program = lazy(() => z.string().min(1));
const seedExecution = lazy(() =>
  z.strictObject({
    tool: z.string(),
    binary: program(),
    subcommand: z.string(),
    args: z.array(seedArgument()).default([]),
  }),
);

const names = lazy(() => z.union([texts(), z.string().transform((name) => [name])]).default([]));
/** What else is compared with `denyPattern`: without a pattern they say nothing. */
const RESOLVED_DENIALS = ["denyResolveCommand", "denyAlwaysResolve"] as const;

const hintCondition = lazy(() =>
  z.strictObject({
    match: z.string().optional(),
    exitCode: z.union([z.literal("nonzero"), z.int()]).optional(),
    notEmpty: z.boolean().optional(),
    whenArg: z.record(z.string(), z.json()).optional(),
    hint: z.string(),
  }),
);
/** A line that is added to the output of a call where all that it names is so. */
export type HintCondition = Fitting<typeof hintCondition>;

const sideRead = lazy(() =>
  z.strictObject({
    pathParam: z.string(),
    filename: z.string().regex(/^(?!.*\.\.)[^/\\\0]+$/, "must be a file's name without folders"),
    label: z.string().optional(),
    oncePerSession: z.boolean().optional(),
  }),
);
/** A file of the folder that a parameter names, whose text is added to the output. */
export type SideRead = Fitting<typeof sideRead>;

const execution = lazy(() =>
  z.strictObject({
    ...seedExecution().shape,
    args: z
      .array(argument())
      .default([])
      .refine(
        (args) => ["stdin", "workingdir"].every((kind) => args.filter((each) => each.kind === kind).length < 2),
        "has two arguments for the standard input, or two working directories",
      ),
    binaryWrapper: z.tuple([program()], z.string()).optional(),
    condition: z.strictObject({ binGroup: z.int().min(0) }).optional(),
    paramCondition: z.strictObject({ present: names(), absent: names() }).optional(),
    successExitCodes: z.array(z.int()).optional(),
    postProcess: postProcess().optional(),
    maxOutputLines: z.int().min(0).optional(),
    truncationHint: z.string().optional(),
    hintConditions: z.array(hintCondition()).optional(),
    sideRead: sideRead().optional(),
  }),
);
/** One way to carry out a tool. */
export type Execution = Fitting<typeof execution>;

const parameters = lazy(() =>
  z.custom<JsonSchema>(isObject, "must be a JSON Schema").superRefine((schema, { addIssue }) => {
    if (!isObject(schema)) return;
    const { type = "object" } = schema;
    if (type !== "object") addIssue({ code: "custom", path: ["type"], message: "must be object" });
    for (const { path, message } of checkJsonSchema(schema, [])) {
      addIssue({ code: "custom", path: [...path], message: message.slice(path.join(".").length).trim() });
    }
  }),
);

const toolSchema = lazy(() =>
  z.strictObject({ name: z.string().min(1), description: z.string().default(""), parameters: parameters() }),
);

const schemasOf = (profile: DescriptorProfile) => ({
  tool: toolSchema(),
  execution: (profile === "seed" ? seedExecution() : execution()) as z.ZodType<Execution>,
});

function isPattern(text: string): boolean {
  try {
    new RegExp(text, "u");
    return true;
  } catch {
    return false;
  }
}

interface Entries<Value> {
  readonly entries: readonly { readonly index: number; readonly value: Value }[];
  readonly findings: readonly DescriptorFinding[];
  /** Names of the tools that a malformed entry costs. */
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
  if (part === "execution") findings.push(...idleDenials(entries as unknown as Entries<Execution>["entries"]));
  return { entries, findings, lost };
}

/** Keys that nobody knows, taken out (0.5.0 passes over them). */
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
  const message = `${fieldPath([part, ...path])} is no key that this version knows; it is passed over`;
  return { code: "MANIFEST_KEY_UNKNOWN", part, path, message };
}

/** Denials that look a value up and have no pattern to compare it with. */
function idleDenials(entries: Entries<Execution>["entries"]): DescriptorFinding[] {
  return entries.flatMap(({ index, value: { args } }) =>
    args.flatMap((mapping, at) =>
      RESOLVED_DENIALS.filter((key) => mapping[key] !== undefined && mapping.denyPattern === undefined).map((key) =>
        passedOver("execution", [index, "args", at, key]),
      ),
    ),
  );
}

/** A key that is null is one that is not there. */
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
    return issue.keys.map((key) => invalid(part, [...path, key], "is no key of the format"));
  }
  const finding = invalid(part, path, lowerFirst(issue.message));
  return [issue.message.startsWith(UNSUPPORTED) ? { ...finding, code: "DESCRIPTOR_UNSUPPORTED" } : finding];
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

function invalid(part: DescriptorPart, path: DescriptorFinding["path"], message: string): DescriptorFinding {
  return { code: "DESCRIPTOR_INVALID", part, path, message: `${fieldPath([part, ...path])} ${message}` };
}

function readAllowlist(given: unknown): { readonly value: Allowlist; readonly findings: DescriptorFinding[] } {
  const value = new Map<string, readonly string[]>();
  if (given === undefined) return { value, findings: [] };
  if (!isObject(given)) return { value, findings: [invalid("allowlist", [], "must be a map of programs")] };
  const findings = Object.entries(given).flatMap(([binary, list]) => {
    const subcommands = texts().safeParse(list);
    if (subcommands.success) value.set(binary, subcommands.data);
    return subcommands.success ? [] : [invalid("allowlist", [binary], "must be a list of subcommands")];
  });
  return { value, findings };
}

// ---- how the parts fit together

/** Each tool with its executions; what has no counterpart is said. */
function joinTools(
  tools: Entries<Fitting<typeof toolSchema>>,
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
    const { name, description, parameters: input_schema } = value;
    const executions = entries.filter((each) => each.value.tool === name).map((each) => each.value);
    const defaults = executions.filter(({ paramCondition }) => paramCondition === undefined);
    if (joined.has(name)) mismatch("tools", [index], `tool "${name}" stands twice; the first counts`);
    else if (lost.has(name))
      mismatch("tools", [index], `tool "${name}" is left out: an execution entry of it is malformed`);
    else if (executions.length === 0 && carriedElsewhere.has(name))
      mismatch(
        "tools",
        [index],
        `tool "${name}" is left out: it has no execution entry for the programs that are here`,
      );
    else if (defaults.length > 1)
      mismatch("tools", [index], `tool "${name}" is left out: it has two execution entries`);
    else joined.set(name, { name, description, input_schema, executions });
    if (joined.get(name)?.executions.length === 0)
      mismatch("tools", [index], `tool "${name}" fails when it is called: it has no execution entry`);
  }
  for (const { index, value } of entries) {
    if (!named.has(value.tool)) mismatch("execution", [index], `there is no tool "${value.tool}" to carry out`);
  }
  return { tools: [...joined.values()], findings };
}

/** Every command that an execution may come to is one that the allowlist names. */
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

/** Why a pair may not run; undefined when it may. */
export function refusedBy(allowlist: Allowlist, binary: string, subcommand: string): string | undefined {
  const subcommands = allowlist.get(binary);
  if (!subcommands) return `binary not allowlisted: ${binary}`;
  return subcommands.includes(subcommand) ? undefined : `subcommand not allowlisted: ${binary} ${subcommand}`;
}

/** Programs that run whatever they are told: the allowlist says little about them. */
const LAUNCHERS =
  /^(?:(?:ba|da|z|k|c|tc|fi|a)?sh|env|xargs|sudo|doas|su|nohup|nice|timeout|setsid|ssh|find|parallel|busybox|eval|exec|(?:python|perl|ruby|node|deno|bun|php|lua|g?awk|tclsh|osascript|pwsh|powershell)[\d.]*)$/;

function launchers(allowlist: Allowlist): DescriptorFinding[] {
  return [...allowlist.keys()].flatMap((binary) => {
    const what = /[\\/]/.test(binary)
      ? "is a path, not a program's bare name"
      : "runs any code that its arguments name";
    if (!/[\\/]/.test(binary) && !LAUNCHERS.test(binary)) return [];
    return [
      { code: "DESCRIPTOR_LAUNCHER", part: "allowlist", path: [binary], message: `allowlist: "${binary}" ${what}` },
    ];
  });
}
