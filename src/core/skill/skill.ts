import type { ZodType, z } from "zod";
import type { BlobInfo, Blobs } from "../base/blobs.ts";
import { type Acted, actedOf, type CallCode, callCodeOf, messageOf } from "../base/errors.ts";
import { sha256 } from "../base/sha256.ts";
import type { InferredInput, Json, JsonSchema } from "../base/values.ts";
import type { ConfigForm } from "./availability/config-form.ts";
import type { Lack } from "./availability/unavailable.ts";

export const CATEGORIES = ["git", "observability", "tasks", "notification", "data", "general"] as const;
export type Category = (typeof CATEGORIES)[number];
export type Effect = "read" | "write";

export const ORIGINS = ["team", "stranger"] as const;
export const AUDIENCES = ["team", "public"] as const;
export const SOURCES = ["private", "open"] as const;
export type Origin = (typeof ORIGINS)[number];
export type Audience = (typeof AUDIENCES)[number];

/** Whose texts a tool gives and who reads what it writes, as values: what taint and plans look at (trust 12). */
export interface ToolReach {
  /**
   * Who writes what it gives: the team's own systems (commits, deploys, metrics), or whoever causes an event, a stranger
   * (logs, issues, messages). Unknown counts as a stranger's.
   */
  readonly origin?: Origin;
  /** Of a tool that writes: who reads it. Default the team; of a skill that nobody vouches for, the public. */
  readonly audience?: Audience;
  /**
   * Of a tool that reads: whether its source is private (telemetry, source code, trackers) or open to all. Default private
   * where the skill is of the category git, observability or tasks.
   */
  readonly reads?: (typeof SOURCES)[number];
}

/** The ways to write a skill, by the labels that people see. */
export const FORMATS = [
  "agent-skills",
  "skill-tools",
  "tool-descriptor",
  "contract",
  "sweny",
  "skills-protocol",
  "module",
  "mcp",
] as const;
export type Format = (typeof FORMATS)[number];
export type SkillKind = "instruction" | "tools" | "action" | "contract";

export interface ConfigField extends ConfigForm {
  readonly description: string;
  /** Unresolved: the skill is unavailable. Default false. */
  readonly required?: boolean;
  /** The key of a field that does in its place: where that one is set, this one need not be. */
  readonly unless?: string;
  /** The environment variable to read. */
  readonly env?: string;
  /** Default true: the value is redacted everywhere. False for addresses and names that people need to read. */
  readonly secret?: boolean;
}

export interface McpServerConfig extends ToolReach {
  readonly type?: "stdio" | "http";
  readonly command?: string;
  readonly args?: readonly string[];
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Of its tools by their names, whatever the server says. */
  readonly effects?: Readonly<Record<string, Effect>>;
  /** How tokens are got from its authorization server (OAuth 2.1); counts in the user's own file alone. */
  readonly auth?: McpAuth;
}

/** `secret` and `key` name the variables that hold them: a client's secret, and its private key as PEM. */
export type McpAuth =
  | (McpClient & { readonly type: "client_credentials"; readonly secret: string })
  | (McpClient & { readonly type: "private_key_jwt"; readonly key: string })
  | (Partial<McpClient> & { readonly type: "authorization_code"; readonly secret?: string });

interface McpClient {
  /** The authorization server that the client is registered with, which alone is shown its secret. */
  readonly issuer: string;
  readonly clientId: string;
  /** What is asked for, whatever the server wants; without it, what the server says. */
  readonly scopes?: readonly string[];
}

export interface Logger {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
}

/** What a handler gets beside its input, and all that it gets. */
export interface ToolContext {
  /** This skill's resolved fields and nobody else's (workflow-format D26). */
  readonly config: Readonly<Record<string, string>>;
  /** The same on every attempt of one call: an idempotency key. */
  readonly callId: string;
  /** Absolute path of the run's working directory. */
  readonly workDir: string;
  /** Aborted when the call times out or the run ends. */
  readonly signal: AbortSignal;
  /** Use this for HTTP: it carries the signal and holds the run's egress limits. */
  readonly fetch: typeof fetch;
  /** Nobody but this machine may be contacted: `fetch` sees to that, other connections are the handler's to refuse. */
  readonly offline: boolean;
  readonly logger: Logger;
  /** Large data by handle: a result that names a blob lets the model read on in it. */
  readonly blobs: Blobs;
}

/** How a format tells that input does not fit, where it has words of its own; a null counts as absent in these. */
export const INPUT_DIALECTS = ["descriptor-current", "descriptor-seed"] as const;
export type InputDialect = (typeof INPUT_DIALECTS)[number];

export interface Tool extends Omit<ToolReach, "audience"> {
  /** Unique in its skill. */
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonSchema;
  /** When present, a result that does not fit is a failed call (O12). */
  readonly output_schema?: JsonSchema;
  readonly effect: Effect;
  /** May be repeated by the executor after an unclear failure. */
  readonly idempotent?: boolean;
  /**
   * Or a function that returns it for one call, right before it. If it throws, the call counts as public, and fails
   * instead of being held for review if the error is a `NothingDone` that would come again.
   */
  readonly audience?: Audience | ((input: never, context: ToolContext) => Audience | Promise<Audience>);
  /** Answers otherwise from one moment to the next: the same call again in a visit is carried out again (D66). */
  readonly live?: boolean;
  /** Config fields without which this one tool is left out, beside those that its skill requires. */
  readonly needs?: readonly string[];
  /**
   * Optional parameters, each with the config field whose value holds where a call gives none: while that field is set, the
   * model is not told of the parameter. A call that gives it is carried out all the same.
   */
  readonly settled_by?: Readonly<Record<string, string>>;
  readonly dialect?: InputDialect;
  /**
   * Gets input that fits `input_schema`. A throw becomes the call's error, shown to the model; that of a SkillflowError with
   * a code that calls have (`CALL_CODES`) has that code. A write that throws may have happened, unless the error has
   * `acted: "no"`, as `NothingDone` does.
   */
  readonly handler: (input: never, context: ToolContext) => unknown;
}

/** One skill, however it was written. `Tool` is what its author wrote; see skill-formats for the other ways. */
export interface Skill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly category: Category;
  readonly config: Readonly<Record<string, ConfigField>>;
  readonly tools: readonly Tool[];
  readonly instruction?: string;
  readonly mcp?: McpServerConfig;
  /** Of the service that it writes to: addresses there may stand in what all the world reads. */
  readonly host?: string;
  /** Semantic, where its format has one. */
  readonly version?: string;
  /** One read-only call that shows whether the config works (`doctor --live`); throws what is wrong, may say what it saw. */
  readonly probe?: (context: ToolContext) => Promise<string | undefined>;
  /**
   * Reports why the skill is of no use on this machine or in a run; undefined if it can be used. A string counts as kind
   * `machine`. Called when skills are listed and before a run starts; must not contact other machines.
   */
  readonly lacks?: (run: RunOutlook) => Promise<Lack | string | undefined>;
}

/** What a skill may know of a run that is about to start. */
export interface RunOutlook extends Pick<ToolContext, "config" | "workDir"> {
  /** The texts of the run's input, and of the instructions, rules and context of its nodes. Empty when skills are listed. */
  readonly texts: readonly string[];
}

/** Carries a call out: its input fits the tool's schema. */
export function callHandler({ handler }: Pick<Tool, "handler">, input: Json, context: ToolContext): unknown {
  return handler(input as never, context);
}

/** Returns who reads what this call writes. Throws why that is not known. */
export function audienceOf(
  { audience = "team" }: Pick<Tool, "audience">,
  input: Json,
  context: ToolContext,
): Promise<Audience> {
  if (typeof audience !== "function") return Promise.resolve(audience);
  const asked = Promise.resolve().then(() => audience(input as never, context));
  return asked.then((told) => (told === "team" ? "team" : "public"));
}

/** A tool as its author may write it: with JSON Schema, or with a zod schema from which the handler's input is inferred. */
interface ToolDefinition<Input extends InputSchema>
  extends Omit<Tool, "input_schema" | "handler" | "effect" | "audience" | "dialect"> {
  readonly input_schema: Input;
  /** Unknown counts as `write`. */
  readonly effect?: Effect;
  readonly audience?: Audience | ((input: InputOf<Input>, context: ToolContext) => Audience | Promise<Audience>);
  /** With a zod schema it gets what that makes of the input: defaults filled in, values converted. */
  readonly handler: (input: InputOf<Input>, context: ToolContext) => unknown;
}

/** Zod 4, zod 3, or JSON Schema. */
type InputSchema = ZodType | Zod3Type | JsonSchema;
type InputOf<Input> = Input extends ZodType
  ? z.infer<Input>
  : Input extends Zod3Type<infer Value>
    ? Value
    : InferredInput<Input>;

/** What tells a schema of zod 3. */
interface Zod3Type<Value = unknown> {
  readonly _output: Value;
  readonly _def: unknown;
}

/** A skill as its author writes it: tools, an instruction, a server, or several of these. */
export interface SkillDefinition extends Omit<Skill, "tools"> {
  readonly tools: readonly AnyToolDefinition[];
}
/** A tool of a skill, as `defineTool` gives it. */
export interface AnyToolDefinition extends Omit<Tool, "input_schema" | "effect" | "audience" | "dialect" | "handler"> {
  /** JSON Schema of type object, or a zod schema of an object. */
  readonly input_schema: unknown;
  /** Unknown counts as `write`. */
  readonly effect?: Effect;
  /** Of a tool that writes: who reads it, or what tells it of one call. Default the team; what cannot be told is public. */
  // biome-ignore lint/suspicious/noExplicitAny: what the schema says, which no type of the whole list can
  readonly audience?: Audience | ((input: any, context: ToolContext) => Audience | Promise<Audience>);
  /**
   * Gets input that fits `input_schema`; what it returns is the result, as JSON. A throw becomes the call's error, which the
   * model reads; if the tool writes, the outcome is unknown unless it throws `NothingDone`. Only `defineTool` infers the
   * input's type.
   */
  // biome-ignore lint/suspicious/noExplicitAny: what the schema says, which no type of the whole list can
  readonly handler: (input: any, context: ToolContext) => unknown;
}

/** Declares a skill. The folder's SKILL.md, if there is one, supplies the instruction. */
export function defineSkill(skill: SkillDefinition): SkillDefinition {
  return skill;
}

/** Declares a tool, inferring the handler's input from a zod schema, or from a JSON Schema that is written in place. */
export function defineTool<const Input extends InputSchema>(tool: ToolDefinition<Input>): AnyToolDefinition {
  return tool as AnyToolDefinition;
}

/** What no provider takes more of in a tool's name. */
const MOST_NAME = 64;

/**
 * The name under which a model sees a tool: `<skill>_<tool>`, not doubled, illegal characters as `_` (D52). A skill that
 * is one tool by itself, as contracts are, is named once. "-" and "_" count as alike. A name that would be too long ends in
 * eight digits of its digest.
 */
export function exposedName(skill: string, tool: string): string {
  const prefix = legalName(skill);
  const name = legalName(tool);
  const isNamed = `${alike(name)}_`.startsWith(`${alike(prefix)}_`);
  const whole = isNamed ? name : `${prefix}_${name}`;
  return whole.length <= MOST_NAME ? whole : `${whole.slice(0, MOST_NAME - 9)}_${sha256(whole).slice(0, 8)}`;
}

/** Names of tools as they are compared (skill-formats 7.2). */
export function alike(name: string): string {
  return name.replace(/[^A-Za-z0-9_]/g, "_");
}

function legalName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_");
}

/** Names that are legal and unique in the skill: of those made equal, the later ones are numbered. */
function exposedNames(skill: string, tools: readonly string[]): string[] {
  return numberNames(tools.map((tool) => exposedName(skill, tool)));
}

/** Unique names: of equal ones, the later are numbered. */
export function numberNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((wanted) => {
    let name = wanted;
    for (let n = 2; taken.has(name); n++) name = `${wanted.slice(0, MOST_NAME - `_${n}`.length)}_${n}`;
    taken.add(name);
    return name;
  });
}

/** The reserved id under which the executor's own tools stand. */
export const EXECUTOR = "skillflow";

/** A tool without its handler: what the record of a run keeps and what the model is offered. */
export interface ToolDescriptor extends ToolReach {
  readonly skill: string;
  readonly name: string;
  readonly exposed: string;
  readonly description: string;
  readonly input_schema: JsonSchema;
  readonly output_schema?: JsonSchema;
  readonly effect: Effect;
  readonly idempotent: boolean;
  readonly live?: boolean;
  /** Of the service that it writes to. */
  readonly host?: string;
  readonly dialect?: InputDialect;
  /** Of `run_script`: the skills whose scripts only read. */
  readonly readers?: readonly string[];
  /** Parameters that config settles: a call may give them, and the model is not told of them. */
  readonly settled?: string[];
}

/** The tools as they are offered, in their order. */
export function describeTools(skill: Skill, tools: readonly Tool[]): ToolDescriptor[] {
  const names = exposedNames(
    skill.id,
    tools.map((tool) => tool.name),
  );
  return tools.map((tool, index) => describeTool(skill, tool, names[index] ?? tool.name));
}

function describeTool(skill: Skill, tool: Tool, exposed: string): ToolDescriptor {
  return {
    skill: skill.id,
    name: tool.name,
    exposed,
    description: tool.description,
    input_schema: tool.input_schema,
    ...(tool.output_schema ? { output_schema: tool.output_schema } : {}),
    effect: tool.effect,
    idempotent: tool.idempotent ?? tool.effect === "read",
    ...reachOf(skill, tool),
    ...(skill.host !== undefined && tool.effect === "write" ? { host: skill.host } : {}),
    ...(tool.live ? { live: true } : {}),
    ...(tool.dialect ? { dialect: tool.dialect } : {}),
  };
}

/** What is not said here is the default, whoever asks: a stranger's, for the team, open. */
function reachOf({ category }: Skill, { effect, origin, audience, reads }: Tool): ToolReach {
  const isPrivate = reads === "private" || (reads === undefined && effect === "read" && PRIVATE.has(category));
  const isPublic = effect === "write" && audience !== undefined && audience !== "team";
  return {
    ...(origin === "team" ? { origin } : {}),
    ...(isPublic ? { audience: "public" } : {}),
    ...(isPrivate ? { reads: "private" } : {}),
  };
}

/** Of these categories what a tool reads is the team's alone, unless it says otherwise. */
const PRIVATE: ReadonlySet<Category> = new Set(["observability", "git", "tasks"]);

/** Whether it gives what is the team's alone. */
export function readsPrivate({ reads }: ToolDescriptor): boolean {
  return reads === "private";
}

/** What holds of a tool, said or not. */
export function wholeReach({ effect, origin, audience, reads }: ToolDescriptor): ToolReach {
  return {
    origin: origin ?? "stranger",
    ...(effect === "write" ? { audience: audience ?? "team" } : {}),
    ...(effect === "read" || reads ? { reads: reads ?? "open" } : {}),
  };
}

/** A call's outcome, as the run sees it. */
export type Outcome = ({ readonly output: Json; readonly blobs?: BlobInfo[] } | Failure) & {
  /** How often a value of the checkout's `.env` was replaced in it, by variable. */
  readonly redactions?: Readonly<Record<string, number>>;
};

export interface Failure {
  readonly error: string;
  readonly code: CallCode;
  /** Whether the call may have written. Always `no` for a tool that reads. */
  readonly acted: Acted;
}

/** The failure of a call that was refused before its tool began. */
export function refusedCall(error: string, code: CallCode): Failure {
  return { error, code, acted: "no" };
}

/** The failure that a thrown value means for a call of this tool. */
export function failureOf({ effect }: Pick<Tool, "effect">, error: unknown): Failure {
  return { error: messageOf(error), code: callCodeOf(error), acted: effect === "read" ? "no" : actedOf(error) };
}
