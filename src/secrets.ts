import { type Environment, secretValues } from "./core/config.ts";
import { createRedactor, type Redactor } from "./core/redact.ts";
import type { Project, SkillEntry } from "./project.ts";

const PROVIDER_KEYS = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "SWENY_FETCH_TOKEN"];

/** Variables that are secret by their name, whether or not this run has a use for them. */
const SECRET_NAME = /(?:^|_)(?:TOKEN|SECRET|PASSWORD|API_?KEY|ACCESS_KEY|PRIVATE_KEY)$/i;
/** Shorter ones may be ordinary words. */
const SECRET_LENGTH = 16;

/** Keeps the secrets of the environment out of what is said before a run's own are known. */
export function environmentRedactor(project: Project): Redactor {
  return createRedactor(secretsOf(project.host.env, [], project));
}

/** For what leaves the machine: all that the environment and the command line hold, secret by its name or long. */
export function reportRedactor(env: Environment, argv: readonly string[]): Redactor {
  const held = Object.entries(env).map(([name, value = ""]) => ({ name, value }));
  const given = argv.flatMap((text) => [text, ...text.split("=")]).map((value) => ({ name: "argument", value }));
  return createRedactor(
    [...held, ...given].filter(({ name, value }) => SECRET_NAME.test(name) || value.length >= SECRET_LENGTH),
  );
}

/** What must not be seen of a run: its skills' secrets, and those of the environment. */
export function secretsOf(env: Environment, entries: Iterable<SkillEntry | undefined>, { project, user }: Project) {
  const configs = [project, user].flatMap((file) => Object.values(file?.config.fetch?.auth ?? {}));
  const named = Object.keys(env).filter((name) => SECRET_NAME.test(name) && (env[name]?.length ?? 0) >= SECRET_LENGTH);
  const names = new Set([...PROVIDER_KEYS, ...configs, ...named]);
  const own = [...names].flatMap((name) => (env[name] ? [{ name, value: env[name] }] : []));
  return [...own, ...[...entries].flatMap((entry) => (entry ? skillSecrets(env, entry) : []))];
}

/** Every MCP server sees these: they are no secrets, though a skill may declare them. */
const BASE_VARIABLES = ["PATH", "HOME", "LANG", "TMPDIR"];

/** Of one skill: its secret fields, and what its MCP server is handed. */
export function skillSecrets(env: Environment, { skill, fields }: SkillEntry) {
  const handed = Object.keys(skill.mcp?.env ?? {}).filter((name) => !BASE_VARIABLES.includes(name));
  return [...secretValues(fields), ...handed.flatMap((name) => (env[name] ? [{ name, value: env[name] }] : []))];
}
