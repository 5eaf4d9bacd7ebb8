import type { ZodType, z } from "zod";
import type { BlobInfo, Blobs } from "../base/blobs.ts";
import { type Acted, actedOf, type CallCode, callCodeOf, messageOf } from "../base/errors.ts";
import { defined, type InferredInput, type Json, type JsonSchema } from "../base/values.ts";
import type { ConfigForm } from "./availability/config-form.ts";
import type { Lack } from "./availability/unavailable.ts";
import { exposedName, numberNames } from "./tool-names.ts";

export const CATEGORIES = ["git", "observability", "tasks", "notification", "data", "general"] as const;
export type Category = (typeof CATEGORIES)[number];
export type Effect = "read" | "write";

export const ORIGINS = ["team", "stranger"] as const;
export const AUDIENCES = ["team", "public"] as const;
export const SOURCES = ["private", "open"] as const;
export type Origin = (typeof ORIGINS)[number];
export type Audience = (typeof AUDIENCES)[number];

/** Facts about a tool that taint tracking, plans, evidence and rechecks rely on. They count only for trusted skills. */
export interface ToolReach {
  /**
   * Who writes the tool's results: the team's own systems (commits, deploys, metrics), or anyone who can cause an
   * event, a stranger (logs, issues, messages). Unknown counts as a stranger.
   */
  readonly origin?: Origin;
  /** For a tool that writes: its readers. Default `team`, or `public` for an untrusted skill. */
  readonly audience?: Audience;
  /**
   * For a tool that reads: whether its source is private (telemetry, source code, trackers) or open. Default private
   * for skills of the category git, observability or tasks.
   */
  readonly reads?: (typeof SOURCES)[number];
  /** For a tool that writes: the input fields that choose where it writes, such as `repository` or `channel`. */
  readonly targets?: string[];
  /** Result fields that repeat the call's own input. Quotes of them are not evidence. */
  readonly echoes?: string[];
  /** Input fields that narrow what a read returns, such as `query`. Without them, it returns all that there is. */
  readonly selects?: string[];
  /**
   * What a read does about time. `range`: it returns what happened in a time range, and nothing after `ToolContext.now()`.
   * `snapshot`: it returns the state at the time of the call. `none`: time does not matter. Default unknown.
   */
  readonly clock?: Clock;
  /** For `clock: range`: the input fields with the ends of the time range. */
  readonly range?: TimeRange;
}

export const CLOCKS = ["range", "snapshot", "none"] as const;
export type Clock = (typeof CLOCKS)[number];

export interface TimeRange {
  readonly from?: string;
  readonly to?: string;
}

/** Formats of skills, by the labels that users see. */
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
  /** If true and unresolved, the skill is unavailable. Default false. */
  readonly required?: boolean;
  /** Key of an alternative field. If that one is set, this one is not required. */
  readonly unless?: string;
  /** Environment variable to read. */
  readonly env?: string;
  /** Default true: the value is redacted everywhere. False for addresses and names that users need to read. */
  readonly secret?: boolean;
}

export interface McpServerConfig extends ToolReach {
  readonly type?: "stdio" | "http";
  readonly command?: string;
  readonly args?: readonly string[];
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Effects by tool name, which override what the server declares. */
  readonly effects?: Readonly<Record<string, Effect>>;
  /** OAuth 2.1 settings for the server's tokens. Counts only in the user's own file. */
  readonly auth?: McpAuth;
}

/** OAuth client. `secret` and `key` name the variables that hold the client's secret and its private key (PEM). */
export type McpAuth =
  | (McpClient & { readonly type: "client_credentials"; readonly secret: string })
  | (McpClient & { readonly type: "private_key_jwt"; readonly key: string })
  | (Partial<McpClient> & { readonly type: "authorization_code"; readonly secret?: string });

interface McpClient {
  /** Authorization server where the client is registered. Only it receives the client's secret. */
  readonly issuer: string;
  readonly clientId: string;
  /** Scopes to request. Defaults to those that the server asks for. */
  readonly scopes?: readonly string[];
}

export interface Logger {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
}

/** Everything that a handler receives besides its input. */
export interface ToolContext {
  /** Resolved config fields of this skill only. */
  readonly config: Readonly<Record<string, string>>;
  /** Idempotency key, the same on every attempt of one call. */
  readonly callId: string;
  /** Absolute path of the run's working directory. */
  readonly workDir: string;
  /** Aborts when the call times out or the run ends. */
  readonly signal: AbortSignal;
  /** Use this for HTTP: it carries the signal and applies the run's egress limits. */
  readonly fetch: typeof fetch;
  /** If true, only this machine may be contacted. `fetch` enforces it. Handlers must refuse other connections. */
  readonly offline: boolean;
  readonly logger: Logger;
  /** Returns the run's time in milliseconds since 1970, at which default ranges end. In a backtest, it is in the past. */
  readonly now: () => number;
  /** Stores large data. A result that names a blob lets the model read more of it. */
  readonly blobs: Blobs;
}

/** Formats with their own messages for invalid input. They treat null as absent. */
export const INPUT_DIALECTS = ["descriptor-current", "descriptor-seed"] as const;
export type InputDialect = (typeof INPUT_DIALECTS)[number];

export interface Tool extends Omit<ToolReach, "audience"> {
  /** Unique in its skill. */
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonSchema;
  /** If present, a result that does not fit is a failed call. */
  readonly output_schema?: JsonSchema;
  readonly effect: Effect;
  /** If true, the executor may repeat it after an unclear failure. */
  readonly idempotent?: boolean;
  /**
   * Or a function that returns it for one call, right before it. If it throws, the call counts as public, and fails
   * instead of being held for review if the error is a `NothingDone` that would come again.
   */
  readonly audience?: Audience | ((input: never, context: ToolContext) => Audience | Promise<Audience>);
  /** True if the answer changes over time: a repeated call in a visit is carried out again. */
  readonly live?: boolean;
  /** The call changes only the run's own copy of something. Such calls run alone and in order. Only for the executor's own skills. */
  readonly contained?: boolean;
  /** Largest result in characters of JSON that the model sees whole. Only for the executor's own skills. */
  readonly most_result?: number;
  /** Config fields that this tool needs in addition to those that its skill requires. */
  readonly needs?: readonly string[];
  /**
   * Optional parameters, each with the config field that supplies its default. While the field is set, the parameter is
   * hidden from the model. A call that passes it is still carried out.
   */
  readonly settled_by?: Readonly<Record<string, string>>;
  readonly dialect?: InputDialect;
  /**
   * Receives input that fits `input_schema`. A throw becomes the call's error, shown to the model. A SkillflowError
   * keeps its code if calls can have it (`CALL_CODES`). A write that throws may have happened, unless the error has
   * `acted: "no"`, as `NothingDone` does.
   */
  readonly handler: (input: never, context: ToolContext) => unknown;
}

/** Skill in any format. */
export interface Skill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly category: Category;
  readonly config: Readonly<Record<string, ConfigField>>;
  readonly tools: readonly Tool[];
  readonly instruction?: string;
  readonly mcp?: McpServerConfig;
  /** Host of the service that it writes to. Its addresses may appear in public text. */
  readonly host?: string;
  /** Semantic version, if its format has one. */
  readonly version?: string;
  /** Makes one read-only call to test the config (`doctor --live`). Throws on failure, may return what it saw. */
  readonly probe?: (context: ToolContext) => Promise<string | undefined>;
  /**
   * Reports why the skill is of no use on this machine or in a run; undefined if it can be used. A string counts as kind
   * `machine`. Called when skills are listed and before a run starts; must not contact other machines.
   */
  readonly lacks?: (run: RunOutlook) => Promise<Lack | string | undefined>;
}

/** Facts about a run that is about to start. */
export interface RunOutlook extends Pick<ToolContext, "config" | "workDir"> {
  /** The texts of the run's input, and of the instructions, rules and context of its nodes. Empty when skills are listed. */
  readonly texts: readonly string[];
}

/** Runs a tool's handler. The input must fit the tool's schema. */
export function callHandler({ handler }: Pick<Tool, "handler">, input: Json, context: ToolContext): unknown {
  return handler(input as never, context);
}

/** Returns who reads what this call writes. Throws if that cannot be determined. */
export function audienceOf(
  { audience = "team" }: Pick<Tool, "audience">,
  input: Json,
  context: ToolContext,
): Promise<Audience> {
  if (typeof audience !== "function") return Promise.resolve(audience);
  const asked = Promise.resolve().then(() => audience(input as never, context));
  return asked.then((told) => (told === "team" ? "team" : "public"));
}

/** Tool as an author writes it, with JSON Schema or with a zod schema that types the handler's input. */
interface ToolDefinition<Input extends InputSchema>
  extends Omit<Tool, "input_schema" | "handler" | "effect" | "audience" | "dialect"> {
  readonly input_schema: Input;
  /** Unknown counts as `write`. */
  readonly effect?: Effect;
  readonly audience?: Audience | ((input: InputOf<Input>, context: ToolContext) => Audience | Promise<Audience>);
  /** With a zod schema, it receives the parsed input, with defaults and conversions applied. */
  readonly handler: (input: InputOf<Input>, context: ToolContext) => unknown;
}

type InputSchema = ZodType | Zod3Type | JsonSchema;
type InputOf<Input> = Input extends ZodType
  ? z.infer<Input>
  : Input extends Zod3Type<infer Value>
    ? Value
    : InferredInput<Input>;

/** Properties that identify a zod 3 schema. */
interface Zod3Type<Value = unknown> {
  readonly _output: Value;
  readonly _def: unknown;
}

/** Skill as its author writes it: tools, an instruction, a server, or several of these. */
export interface SkillDefinition extends Omit<Skill, "tools"> {
  readonly tools: readonly AnyToolDefinition[];
}
/** Tool of a skill, as `defineTool` returns it. */
export interface AnyToolDefinition extends Omit<Tool, "input_schema" | "effect" | "audience" | "dialect" | "handler"> {
  /** JSON Schema of type object, or a zod schema of an object. */
  readonly input_schema: unknown;
  /** Unknown counts as `write`. */
  readonly effect?: Effect;
  /** For a tool that writes: its readers, or a function per call. Default `team`. Public if the function fails. */
  // biome-ignore lint/suspicious/noExplicitAny: the schema defines the type, which a list of tools cannot express
  readonly audience?: Audience | ((input: any, context: ToolContext) => Audience | Promise<Audience>);
  /**
   * Receives input that fits `input_schema`. Its return value is the result, as JSON. A throw becomes the call's error,
   * which the model reads. If the tool writes, the outcome is then unknown, unless it throws `NothingDone`. Only
   * `defineTool` infers the input's type.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the schema defines the type, which a list of tools cannot express
  readonly handler: (input: any, context: ToolContext) => unknown;
}

/** Declares a skill. The folder's SKILL.md, if there is one, supplies the instruction. */
export function defineSkill(skill: SkillDefinition): SkillDefinition {
  return skill;
}

/** Declares a tool and infers the handler's input from a zod schema or an inline JSON Schema. */
export function defineTool<const Input extends InputSchema>(tool: ToolDefinition<Input>): AnyToolDefinition {
  return tool as AnyToolDefinition;
}

/** Reserved skill id of the executor's own tools. */
export const EXECUTOR = "skillflow";

/** Tool without its handler, as recorded and as offered to the model. */
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
  /** Changes only the run's own copy of something. Such calls run alone and in order. */
  readonly contained?: boolean;
  /** Host of the service that it writes to. */
  readonly host?: string;
  readonly dialect?: InputDialect;
  /** For `run_script`: the skills whose scripts only read. */
  readonly readers?: readonly string[];
  /** Parameters that config supplies. Calls may pass them, but the model does not see them. */
  readonly settled?: string[];
}

export function describeTools(skill: Skill, tools: readonly Tool[]): ToolDescriptor[] {
  const names = numberNames(tools.map((tool) => exposedName(skill.id, tool.name)));
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
    ...(tool.contained ? { contained: true } : {}),
    ...(tool.dialect ? { dialect: tool.dialect } : {}),
  };
}

/** Returns the reach, omitting default values: stranger, team, open. */
function reachOf({ category }: Skill, tool: Tool): ToolReach {
  const { effect, origin, audience, reads, targets, echoes, selects, clock, range } = tool;
  const isPrivate = reads === "private" || (reads === undefined && effect === "read" && PRIVATE.has(category));
  const isPublic = effect === "write" && audience !== undefined && audience !== "team";
  return {
    ...(origin === "team" ? { origin } : {}),
    ...(isPublic ? { audience: "public" } : {}),
    ...(isPrivate ? { reads: "private" } : {}),
    ...(effect === "write" ? defined("targets", targets) : {}),
    ...(effect === "read" ? { ...defined("echoes", echoes), ...defined("selects", selects) } : {}),
    ...(effect === "read" ? { ...defined("clock", clock), ...defined("range", range) } : {}),
  };
}

/** Categories whose tools read private data unless they declare otherwise. */
const PRIVATE: ReadonlySet<Category> = new Set(["observability", "git", "tasks"]);

export function readsPrivate({ reads }: ToolDescriptor): boolean {
  return reads === "private";
}

/** Returns a tool's reach with defaults filled in. */
export function wholeReach({ effect, origin, audience, reads }: ToolDescriptor): ToolReach {
  return {
    origin: origin ?? "stranger",
    ...(effect === "write" ? { audience: audience ?? "team" } : {}),
    ...(effect === "read" || reads ? { reads: reads ?? "open" } : {}),
  };
}

/** Outcome of a call, as the run sees it. */
export type Outcome = ({ readonly output: Json; readonly blobs?: BlobInfo[] } | Failure) & {
  /** Number of redacted values of the checkout's `.env`, by variable. */
  readonly redactions?: Readonly<Record<string, number>>;
};

export interface Failure {
  readonly error: string;
  readonly code: CallCode;
  /** Whether the call may have written. Always `no` for a tool that reads. */
  readonly acted: Acted;
}

/** Creates the failure of a call that was refused before its tool started. */
export function refusedCall(error: string, code: CallCode): Failure {
  return { error, code, acted: "no" };
}

export function failureOf({ effect }: Pick<Tool, "effect">, error: unknown): Failure {
  return { error: messageOf(error), code: callCodeOf(error), acted: effect === "read" ? "no" : actedOf(error) };
}
