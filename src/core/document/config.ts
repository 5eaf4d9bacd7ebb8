import * as z from "zod";
import { usageError } from "../base/errors.ts";
import { type Fitting, isObject, lazy } from "../base/values.ts";
import { hasForm, type LookUp, wantedOf } from "../skill/availability/config-form.ts";
import type { Lack } from "../skill/availability/unavailable.ts";
import { flag, lazyStrictObject, matching, optional, positive, strings, text, writesMode } from "../skill/field.ts";
import { mcpServerSchema } from "../skill/mcp-server.ts";
import type { ConfigField, Skill, Tool } from "../skill/skill.ts";
import { INSTANCE_NAME } from "../skill/skill-reference.ts";
import { modelChoice } from "./model-list.ts";
import { workflowLimitsSchema } from "./workflow/limits.ts";

/** Environment variables of the process, or injected ones. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Rate such as `50/minute`, or a number of concurrent calls. */
const rateSchema = lazy(() =>
  z.union([
    positive(),
    matching(
      /^[1-9]\d{0,6}\/(?:second|minute|hour|day)$/,
      "must be a rate such as 50/minute, or a number of concurrent calls",
    ),
  ]),
);

const ratesSchema = lazyStrictObject(() => ({
  runs: optional(positive(), "Maximum number of concurrent runs"),
  models: optional(z.record(text(), rateSchema()), "Rates of model calls, by PROVIDER:NAME. * matches anything."),
  skills: optional(z.record(text(), rateSchema()), "Rates of tool calls, by skill id"),
}));

/** Config of one instance: each field's variable, or its value. */
const instanceSchema = lazy(() =>
  z.record(
    text(),
    z.union([text(), z.strictObject({ env: text().describe("Environment variable that holds the value") })]),
  ),
);
export type InstanceConfig = Fitting<typeof instanceSchema>;

const skillsSchema = lazyStrictObject(() => ({
  extraDirs: optional(z.array(text()), "Additional skill folders, relative to this file"),
  modules: optional(z.array(text()), "Plug-ins in code: a file or folder, relative to this file, or an npm package"),
  disabled: optional(strings(), "Ids of skills to exclude"),
  discover: optional(flag(), "false: do not search the standard folders for skills"),
  order: optional(z.enum(["sweny", "skill-tools"]), "Precedence of the standard skill folders"),
  contextMode: optional(
    z.enum(["full", "readOnDemand"]),
    "How the model gets the instructions of skills: in the prompt (full), or by reading them from a list",
  ),
  descriptor: optional(z.enum(["current", "seed"]), "Rule set for tools.json descriptors"),
  allowScripts: optional(flag(), "Allow resolveCommand scripts of descriptors. Effective only in the user's file."),
  add: optional(z.record(z.string(), z.array(text())), "More skills of nodes, by node: { implement: [workspace] }"),
  instances: optional(
    z.record(
      text(),
      z.record(
        matching(INSTANCE_NAME, "must begin with a letter and have at most 32 of a-z, 0-9 and -"),
        instanceSchema(),
      ),
    ),
    "More backends of a skill, by skill id and name: { prometheus: { eu: { PROMETHEUS_URL: { env: PROM_EU_URL } } } }",
  ),
  defineTool: optional(flag(), "Enable the skill tool-maker. Effective only in the user's file."),
  trust: optional(strings(), "Skills whose code may run. Effective only in the user's file."),
  env: optional(
    z.record(z.string(), z.array(text())),
    "Environment variables to pass, by skill, for formats that cannot declare them. Effective only in the user's file.",
  ),
}));

const lines = lazy(() => z.array(text()).min(1));

/** Form of `URL@COMMIT:PATH`. With a query, a checkout could have any address of this machine asked. */
export const GIT_PLACE = /^([^?#\n]{1,2000})@([0-9a-f]{40}):(.+)$/;

const extensionSchema = lazy(() =>
  z
    .strictObject({
      file: optional(text(), "File in the repository, relative to this file"),
      git: optional(
        matching(GIT_PLACE, "must be URL@COMMIT:PATH with the 40 digits of a commit, and without ? and #"),
        "URL@COMMIT:PATH",
      ),
      sha256: matching(/^[0-9a-f]{64}$/, "must be the 64 hexadecimal digits of the file's sha256").describe(
        "Digest of the file",
      ),
    })
    .refine(({ file, git }) => (file === undefined) !== (git === undefined), "must have either file or git"),
);
export type Extension = Fitting<typeof extensionSchema>;

/** Schema of `.skillflow.yml`, in a project and per user. */
export const projectConfigSchema = lazyStrictObject(() => ({
  extends: optional(
    z.union([extensionSchema(), z.array(extensionSchema())]),
    "Files with shared settings, which those in this file override. Only in a project's file.",
  ),
  model: optional(modelChoice(), "Default model, PROVIDER:NAME, as in --model, or a list of models"),
  judge_model: optional(modelChoice(), "Default model for judges, or a list of models"),
  writes: optional(writesMode(), "Same as --writes. The strictest value of the files and the workflow applies."),
  limits: optional(
    workflowLimitsSchema(),
    "Limits of each run. The strictest value of the files and the workflow applies.",
  ),
  rates: optional(ratesSchema(), "Rate limits, shared by all workers of a database, otherwise per process"),
  skills: optional(skillsSchema(), "Where to find skills, and what they may do"),
  workspace: optional(
    z.strictObject({
      commands: optional(lines(), "Same as WORKSPACE_COMMANDS"),
      setup: optional(text(), "Same as WORKSPACE_SETUP"),
      mounts: optional(lines(), "Same as WORKSPACE_MOUNTS"),
      paths: optional(lines(), "Same as WORKSPACE_PATHS"),
      unprotect: optional(lines(), "Same as WORKSPACE_UNPROTECT"),
      test: optional(text(), "Command of the tests: default of the input test_command, in any file"),
    }),
    "Settings of the skill workspace. All but test are effective only in the user's file.",
  ),
  mcpServers: optional(
    z.record(z.string(), mcpServerSchema()),
    "MCP servers, by skill id. Servers in a project's file require trust.",
  ),
  fetch: optional(
    z.strictObject({
      auth: optional(
        z.record(z.string(), z.string()),
        "Names of the variables with the tokens, by host. Effective only in the user's file.",
      ),
      hosts: optional(
        z.array(text()),
        "Hosts of repositories that extends of a project's file may name. Effective only in the user's file.",
      ),
    }),
    "Settings for sources fetched by URL, and for extends",
  ),
}));
export type ProjectConfig = Fitting<typeof projectConfigSchema>;

const RESERVED_VARIABLE =
  /^(?:PATH|HOME|LANG|TMPDIR|TMP|TEMP|IFS|ENV|BASH_.*|SHELLOPTS|BASHOPTS|PS4|LD_.*|DYLD_.*|GCONV_PATH|NODE_(?:OPTIONS|PATH|EXTRA_CA_CERTS|REPL_EXTERNAL_MODULE|V8_COVERAGE)|PYTHON[A-Z]+|PERL(?:5?LIB|5OPT|5DB)|RUBY(?:OPT|LIB)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|GIT_(?:SSH.*|EXEC_PATH|CONFIG.*|PAGER|EDITOR|ASKPASS|EXTERNAL_DIFF|PROXY_COMMAND|TEMPLATE_DIR)|npm_config_.*|SKILLFLOW_.*)$/i;

/** Checks for variables that change which code a program loads. A document cannot pass them to a skill's programs. */
export function isReservedVariable(name: string): boolean {
  return RESERVED_VARIABLE.test(name);
}

const SECRET_NAME =
  /PASSWORD|PASSWD|(?:TOKEN|SECRET|APIKEY|SECRETKEY|CREDENTIAL)S?\d*(?:_|$)|(?:^|_)(?:KEY|DSN)S?\d*(?:_|$)/i;

/** Checks whether a variable's name marks it as secret, even if no skill uses it. A place or a limit is not one. */
export function isSecretName(name: string): boolean {
  const isPlain = /_(?:DIR|DIRECTORY|FOLDER)$/i.test(name) || (/TOKENS$/i.test(name) && /(?:^|_)MAX_/i.test(name));
  return !isPlain && (SECRET_NAME.test(name) || endsAsSecret(name));
}

const SECRET_END =
  /(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|APIKEY|SECRETKEY|CREDENTIAL|(?:^|_)(?:KEY|DSN|PASS))S?\d*$/i;

/** Checks whether a name ends like a secret's, such as `PGPASSWORD` or `DEPLOY_KEYS`. */
export function endsAsSecret(name: string): boolean {
  return SECRET_END.test(name);
}

/** Variables that every MCP server receives. They are not secret, even if a skill declares them. */
export const BASE_VARIABLES: readonly string[] = ["PATH", "HOME", "LANG", "TMPDIR"];

export interface ResolvedField {
  readonly key: string;
  readonly field: ConfigField;
  /** Undefined if unresolved. An empty string counts as unresolved. */
  readonly value: string | undefined;
  readonly from: "override" | "environment" | undefined;
  /** True if an empty value was given, or white space for a field with a declared form. */
  readonly empty: boolean;
  readonly malformed: boolean;
}

/**
 * Resolves each field from the override, by `skill.key` or key, or from the variable in `env`. An override may also name
 * the variable. White space around a value is removed if the field declares a form.
 */
export function resolveConfig(
  skill: Pick<Skill, "id" | "config">,
  overrides: ReadonlyMap<string, string>,
  { env, lookUp }: { readonly env: Environment; readonly lookUp: LookUp },
): readonly ResolvedField[] {
  return Object.entries(skill.config).map(([key, field]) => {
    const names = [key, ...(field.env === undefined ? [] : [field.env])];
    const all = [...names.map((name) => `${skill.id}.${name}`), ...names];
    const override = all.map((name) => overrides.get(name)).find((value) => value !== undefined);
    const given = override ?? (field.env === undefined ? undefined : env[field.env]);
    const trimmed = field.format === undefined ? given : given?.trim();
    const value = trimmed === "" ? undefined : trimmed;
    const source = override === undefined ? "environment" : "override";
    const malformed = value !== undefined && !hasForm(value, field, lookUp);
    return { key, field, value, from: value === undefined ? undefined : source, empty: trimmed === "", malformed };
  });
}

/** Throws if an override names only a key that several skills declare. */
export function refuseAmbiguous(
  overrides: ReadonlyMap<string, string>,
  skills: readonly { readonly id: string; readonly keys: readonly string[] }[],
): void {
  for (const key of overrides.keys()) {
    const declaring = skills.flatMap(({ id, keys }) => (keys.includes(key) ? [id] : [])).sort();
    if (declaring.length < 2) continue;
    const choices = declaring.flatMap((id, index) => {
      return [index === 0 ? "choose one: " : ", ", { option: "set" as const, value: `${id}.${key}=VALUE` }];
    });
    throw usageError(`the value for ${key} could be for several skills: ${declaring.join(", ")}`, choices);
  }
}

/** Describes what a skill's config lacks, without values. Returns undefined if the config is complete. */
export function lackOfConfig(fields: readonly ResolvedField[]): Lack | undefined {
  const missing = lackingFields(fields);
  const malformed = fields.filter((field) => field.malformed);
  if (missing.length + malformed.length === 0) return undefined;
  const wrong = malformed.map((field) => `${nameOf(field)} is not ${wantedOf(field.field)}`);
  return {
    kind: missing.length > 0 ? "config_missing" : "config_form",
    reason: [...missing.map((field) => describeLack(field, fields)), ...wrong].join("; "),
    fix: [...missing, ...malformed].map(fixOf).join("; "),
  };
}

function fixOf(resolved: ResolvedField): string {
  const { field, malformed } = resolved;
  const change = malformed ? `set ${nameOf(resolved)} to ${wantedOf(field)}` : `set ${nameOf(resolved)}`;
  return `${change}${malformed && !field.required ? ", or unset it" : ""} (${field.description})`;
}

function nameOf({ key, field }: ResolvedField): string {
  return field.env ?? key;
}

/** Returns required fields without a value, unless their alternative field has one. */
export function lackingFields(fields: readonly ResolvedField[]): readonly ResolvedField[] {
  const isSet = (wanted: string | undefined) => fields.some(({ key, value }) => key === wanted && value !== undefined);
  return fields.filter(({ field, value }) => field.required && value === undefined && !isSet(field.unless));
}

function describeLack(lacking: ResolvedField, fields: readonly ResolvedField[]): string {
  const other = fields.find(({ key }) => key === lacking.field.unless);
  return other ? `${describeMissing(lacking)}, nor is ${nameOf(other)}` : describeMissing(lacking);
}

/** Returns why a tool of an available skill is left out, or undefined if it is offered. */
export function missingForTool(
  { needs = [] }: Pick<Tool, "needs">,
  fields: readonly ResolvedField[],
): string | undefined {
  const missing = fields.filter(({ key, value }) => needs.includes(key) && value === undefined);
  return missing.length === 0 ? undefined : missing.map(describeMissing).join("; ");
}

/** Returns the optional parameters of a tool that resolved fields supply. */
export function settledParameters(
  { settled_by = {}, input_schema }: Pick<Tool, "settled_by" | "input_schema">,
  fields: readonly ResolvedField[],
): string[] {
  const { properties, required } = input_schema;
  const set = new Set(fields.flatMap(({ key, value }) => (value?.trim() ? [key] : [])));
  return Object.entries(settled_by).flatMap(([parameter, key]) => {
    const isOptional =
      isObject(properties) &&
      Object.hasOwn(properties, parameter) &&
      !(Array.isArray(required) && required.includes(parameter));
    return isOptional && set.has(key) ? [parameter] : [];
  });
}

function describeMissing({ key, field, empty }: ResolvedField): string {
  const name = field.env ?? key;
  if (empty) return `${name} is set but empty`;
  return field.env === undefined ? `${key} is not given` : `${name} is not set`;
}

/** Returns the values that a handler may see: its own skill's resolved fields. */
export function configValues(fields: readonly ResolvedField[]): Readonly<Record<string, string>> {
  return Object.fromEntries(fields.flatMap(({ key, value }) => (value === undefined ? [] : [[key, value]])));
}

export function secretValues(fields: readonly ResolvedField[]): { readonly name: string; readonly value: string }[] {
  return fields.flatMap(({ key, field, value }) =>
    value === undefined || field.secret === false ? [] : [{ name: key, value }],
  );
}
