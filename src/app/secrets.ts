import type { Diagnostic } from "../core/base/diagnostic.ts";
import { createRedactor, isUnmistakable, type Redactor, type Secret, wordsOf } from "../core/base/redact/redact.ts";
import { isObject, percentDecoded } from "../core/base/values.ts";
import { BASE_VARIABLES, type Environment, isSecretName, secretValues } from "../core/document/config.ts";
import type { Workflow } from "../core/document/workflow/workflow.ts";
import { instanceOf } from "../core/skill/skill-reference.ts";
import skillVariables from "../core/skill/skill-variables.json" with { type: "json" };
import { projectRoot } from "../loaders/documents/project-config.ts";
import { variablesOf } from "../loaders/mcp/variables.ts";
import type { SkillSet } from "../loaders/registry/skill-set.ts";
import { type DeclaredVariables, dotenvSecrets } from "../loaders/text/dotenv.ts";
import { credentialsIn, dotenvVariables, userParts } from "../loaders/trust/credential-files.ts";
import type { Workspace } from "./host.ts";
import type { SkillEntry } from "./workspace.ts";

const PROVIDER_KEYS = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "SWENY_FETCH_TOKEN"];

/** Shortest value to redact in reports if its name is not secret. Shorter ones may be ordinary words. */
const SECRET_LENGTH = 16;

/** Redacts the secrets of the environment and of skills, outside of a run. */
export function environmentRedactor(workspace: Workspace, entries: Iterable<SkillEntry | undefined> = []): Redactor {
  return createRedactor(secretsOf(workspace, entries));
}

/** Redacts reports that leave the machine: environment values and arguments that have a secret name or are long. */
export function reportRedactor(env: Environment, argv: readonly string[]): Redactor {
  const held = Object.entries(env).map(([name, value = ""]) => ({ name, value }));
  const given = argv.flatMap((text) => [text, ...text.split("=")]).map((value) => ({ name: "argument", value }));
  return createRedactor(
    [...held, ...given].filter(({ name, value }) => isSecretName(name) || value.length >= SECRET_LENGTH),
  );
}

/** Creates a run's redactor. It does not redact words of the workflow. */
export function runRedactor(secrets: readonly Secret[], workflow: Workflow | undefined): Redactor {
  return createRedactor(secrets, workflow && wordsOf(workflow));
}

export function describeUnsearched({ unsearched }: Redactor): readonly string[] {
  const describe = (why: "short" | "word", reason: string) => {
    const names = new Set(unsearched.filter((one) => one.why === why).map(({ name }) => name));
    return names.size === 0 ? [] : [`not redacted, because ${reason}: ${[...names].join(", ")}`];
  };
  return [
    ...describe("short", "a value under 8 characters may be ordinary text"),
    ...describe("word", "the value is a word of the workflow"),
  ];
}

/** Finds certain secrets in a workflow. Documents are not redacted, so they must not contain any. */
export function checkDocument(secrets: readonly Secret[], workflow: Workflow): Diagnostic[] {
  const sure = secrets.filter(({ value }) => isUnmistakable(value));
  return textsOf(workflow, []).flatMap(([path, text]) => {
    const found = sure.find(({ value }) => text.includes(value));
    if (!found) return [];
    const message = `the value of ${found.name} is in this text, which the model sees and every run records`;
    const hint = `remove it here and revoke it where it is valid: a skill gets ${found.name} as its config`;
    return [{ severity: "warning", code: "secret.in_document", path, message, hint }];
  });
}

function textsOf(value: unknown, path: Diagnostic["path"]): [path: Diagnostic["path"], text: string][] {
  if (typeof value === "string") return [[path, value]];
  if (Array.isArray(value)) return value.flatMap((item, index) => textsOf(item, [...path, index]));
  return isObject(value) ? Object.entries(value).flatMap(([key, member]) => textsOf(member, [...path, key])) : [];
}

/** Returns all secrets of a run: of its skills, the environment, and the checkout's files. */
export function secretsOf(
  { host, root, operator, skills }: Workspace,
  entries: Iterable<SkillEntry | undefined> = [],
): readonly Secret[] {
  const { env } = host;
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
    ...[...dotenvFolders(host, root)]
      .flatMap(dotenvVariables)
      .flatMap(([name, value]) => dotenvSecrets(name, value, declared)),
  ];
}

/** On a pull request, uses the base's files. Otherwise the author could have evidence redacted. */
function dotenvFolders({ cwd, documents }: Workspace["host"], root: string): Set<string> {
  return new Set(documents?.ofEvent ? [documents.folder, projectRoot(documents.folder)] : [cwd, root]);
}

function declaredVariables(skills: SkillSet): DeclaredVariables {
  const declares = (name: string, as: "readable" | "secret") =>
    BUILTIN[as].includes(name) || skills.declares(name) === as;
  return { isReadable: (name) => declares(name, "readable"), isSecret: (name) => declares(name, "secret") };
}

/** Variables of the built-in skills, without loading them. */
const BUILTIN: Readonly<Record<"readable" | "secret", readonly string[]>> = skillVariables;

const EXPORT_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS";

/** Parses the OpenTelemetry headers variable: `name=value,name=value`, percent-encoded. */
export function exportHeaders(env: Environment): readonly (readonly [name: string, value: string])[] {
  return (env[EXPORT_HEADERS] ?? "").split(",").flatMap((pair) => {
    const at = pair.indexOf("=");
    return at > 0 ? [[pair.slice(0, at).trim(), percentDecoded(pair.slice(at + 1).trim())] as const] : [];
  });
}

/** Returns a URL with a user part, and the part itself, as secrets. */
function addressSecrets(name: string, value: string): Secret[] {
  const parts = /^\s*[a-z][a-z\d+.-]*:\/\//i.test(value) ? userParts(value) : [];
  return parts.length === 0 ? [] : [value, ...parts].map((part) => ({ name, value: part }));
}

function skillSecrets(env: Environment, { skill, fields }: SkillEntry): readonly Secret[] {
  const { env: declared = {}, auth } = skill.mcp ?? {};
  const handed = [...Object.keys(declared).filter((name) => !BASE_VARIABLES.includes(name)), ...variablesOf(auth)];
  // Instances share their keys, so only the variable shows which value it is.
  const named = instanceOf(skill.id) ? fields.map((each) => ({ ...each, key: each.field.env ?? each.key })) : fields;
  return [...secretValues(named), ...handed.flatMap((name) => (env[name] ? [{ name, value: env[name] }] : []))];
}
