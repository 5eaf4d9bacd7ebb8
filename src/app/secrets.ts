import type { Diagnostic } from "../core/base/diagnostic.ts";
import { createRedactor, isUnmistakable, type Redactor, type Secret, wordsOf } from "../core/base/redact/redact.ts";
import { isObject } from "../core/base/values.ts";
import { BASE_VARIABLES, type Environment, isSecretName, secretValues } from "../core/document/config.ts";
import type { Workflow } from "../core/document/workflow/workflow.ts";
import skillVariables from "../core/skill/skill-variables.json" with { type: "json" };
import { projectRoot } from "../loaders/documents/project-config.ts";
import { variablesOf } from "../loaders/mcp/variables.ts";
import type { SkillSet } from "../loaders/registry/skill-set.ts";
import { type DeclaredVariables, dotenvSecrets } from "../loaders/text/dotenv.ts";
import { credentialsIn, dotenvVariables, userParts } from "../loaders/trust/credential-files.ts";
import type { Workspace } from "./host.ts";
import type { SkillEntry } from "./workspace.ts";

const PROVIDER_KEYS = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "SWENY_FETCH_TOKEN"];

/** Of what is reported: shorter ones may be ordinary words. */
const SECRET_LENGTH = 16;

/** Keeps the secrets of the environment out of what is said before a run's own are known. */
export function environmentRedactor(workspace: Workspace): Redactor {
  return createRedactor(secretsOf(workspace.host.env, [], workspace));
}

/** For what leaves the machine: all that the environment and the command line hold, secret by its name or long. */
export function reportRedactor(env: Environment, argv: readonly string[]): Redactor {
  const held = Object.entries(env).map(([name, value = ""]) => ({ name, value }));
  const given = argv.flatMap((text) => [text, ...text.split("=")]).map((value) => ({ name: "argument", value }));
  return createRedactor(
    [...held, ...given].filter(({ name, value }) => isSecretName(name) || value.length >= SECRET_LENGTH),
  );
}

/** Of a run: no word of its workflow is looked for. */
export function runRedactor(secrets: readonly Secret[], workflow: Workflow | undefined): Redactor {
  return createRedactor(secrets, workflow && wordsOf(workflow));
}

/** Said once: whose values may be seen. */
export function describeUnsearched({ unsearched }: Redactor): readonly string[] {
  const named = (why: "short" | "word") => [
    ...new Set(unsearched.filter((one) => one.why === why).map(({ name }) => name)),
  ];
  const tell = (names: readonly string[], reason: string) =>
    names.length === 0 ? [] : [`not kept out of what is recorded and shown, ${reason}: ${names.join(", ")}`];
  return [
    ...tell(named("short"), "as a value under 8 characters may be ordinary text"),
    ...tell(named("word"), "as the value is a word of the workflow"),
  ];
}

/** Those of the environment and the checkout. */
export function documentSecrets(workspace: Workspace, workflow: Workflow): Diagnostic[] {
  return checkDocument(secretsOf(workspace.host.env, [], workspace), workflow);
}

/** A document is never redacted: what is a secret beyond doubt must not stand in it. */
export function checkDocument(secrets: readonly Secret[], workflow: Workflow): Diagnostic[] {
  const sure = secrets.filter(({ value }) => isUnmistakable(value));
  return textsOf(workflow, []).flatMap(([path, text]) => {
    const found = sure.find(({ value }) => text.includes(value));
    if (!found) return [];
    const message = `the value of ${found.name} stands in this text, which the model sees and every run records`;
    const hint = `take it out and replace it where it is valid: a skill gets ${found.name} as its config`;
    return [{ severity: "warning", code: "secret.in_document", path, message, hint }];
  });
}

function textsOf(value: unknown, path: Diagnostic["path"]): [path: Diagnostic["path"], text: string][] {
  if (typeof value === "string") return [[path, value]];
  if (Array.isArray(value)) return value.flatMap((item, index) => textsOf(item, [...path, index]));
  return isObject(value) ? Object.entries(value).flatMap(([key, member]) => textsOf(member, [...path, key])) : [];
}

/** What must not be seen of a run: its skills' secrets, those of the environment, and of files of the checkout. */
export function secretsOf(
  env: Environment,
  entries: Iterable<SkillEntry | undefined>,
  { host, root, operator, skills }: Workspace,
): readonly Secret[] {
  const configs = Object.values(operator.fetch?.auth ?? {});
  const declared = declaredVariables(skills);
  const byName = Object.keys(env).filter((name) => isSecretName(name) && !declared.isReadable(name));
  const names = new Set([...PROVIDER_KEYS, ...configs, ...byName]);
  const own = [...names].flatMap((name) => (env[name] ? [{ name, value: env[name] }] : []));
  const folders = [...new Set([host.cwd, root])];
  return [
    ...[...entries].flatMap((entry) => (entry ? skillSecrets(env, entry) : [])),
    ...own,
    ...exportHeaders(env).map(([, value]) => ({ name: EXPORT_HEADERS, value })),
    ...Object.entries(env).flatMap(([name, value = ""]) => addressSecrets(name, value)),
    ...folders.flatMap((folder) => credentialsIn(folder, env.HOME)),
    ...dotenvFolders(host, root)
      .flatMap(dotenvVariables)
      .flatMap(([name, value]) => dotenvSecrets(name, value, declared)),
  ];
}

/** On a pull request the base's files count: its author could have the words that prove something redacted. */
function dotenvFolders({ cwd, documents }: Workspace["host"], root: string): string[] {
  const [at, top] = documents?.ofEvent ? [documents.folder, projectRoot(documents.folder)] : [cwd, root];
  return [...new Set([at, top])];
}

function declaredVariables(skills: SkillSet): DeclaredVariables {
  const declares = (name: string, as: "readable" | "secret") =>
    BUILTIN[as].includes(name) || skills.declares(name) === as;
  return { isReadable: (name) => declares(name, "readable"), isSecret: (name) => declares(name, "secret") };
}

/** The variables of the built-in skills, without loading them. */
const BUILTIN: Readonly<Record<"readable" | "secret", readonly string[]>> = skillVariables;

export const EXPORT_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS";

/** What an exporter of telemetry sends along, by OpenTelemetry's own variable: `name=value,name=value`, percent-encoded. */
export function exportHeaders(env: Environment): readonly (readonly [name: string, value: string])[] {
  return (env[EXPORT_HEADERS] ?? "").split(",").flatMap((pair) => {
    const at = pair.indexOf("=");
    return at > 0 ? [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())] as const] : [];
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a lone percent sign is one
  }
}

/** An address with a user part is secret as a whole, and so is the part. */
function addressSecrets(name: string, value: string): Secret[] {
  const parts = /^\s*[a-z][a-z\d+.-]*:\/\//i.test(value) ? userParts(value) : [];
  return parts.length === 0 ? [] : [value, ...parts].map((part) => ({ name, value: part }));
}

/** Of one skill: its secret fields, and what its MCP server is handed. */
export function skillSecrets(env: Environment, { skill, fields }: SkillEntry): readonly Secret[] {
  const { env: declared = {}, auth } = skill.mcp ?? {};
  const handed = [...Object.keys(declared).filter((name) => !BASE_VARIABLES.includes(name)), ...variablesOf(auth)];
  return [...secretValues(fields), ...handed.flatMap((name) => (env[name] ? [{ name, value: env[name] }] : []))];
}
