import { resolve } from "node:path";
import { readApiDescription } from "../../../app/skills/api-description.ts";
import { usageError } from "../../../core/base/errors.ts";
import { didYouMean } from "../../../core/base/values.ts";
import type { Environment } from "../../../core/document/config.ts";
import type { ApiDescription, ApiOperation } from "../../../core/skill/openapi/description.ts";
import skillVariables from "../../../core/skill/skill-variables.json" with { type: "json" };
import type { Io } from "../../io.ts";
import { slugOf } from "../../templates/fill.ts";
import knownWords from "./known-words.json" with { type: "json" };
import type { Begun } from "./new.ts";
import { type ApiSkill, apiSkillFiles, apiSkillVariables, sentVariables } from "./openapi-files.ts";

/** Maximum number of tools if the user chose no operations. */
const MOST_UNCHOSEN = 20;
const MOST_LISTED = 80;

/** Names the skill after the description's title, unless `given`. In names of operations, `*` matches anything. */
export function skillFromOpenapi({ host }: Io, file: string, chosen: readonly string[], given?: string): Begun {
  const api = readApiDescription(resolve(host.cwd, file), file);
  const id = given ?? slugOf(api.title, 40);
  const prefix = choosePrefix(id, api, host.env);
  const skill: ApiSkill = { id, prefix, api, operations: choose(api.operations, chosen, file) };
  const variables = apiSkillVariables(skill).map(({ name, needed }) => (needed ? name : `${name} (optional)`));
  const count = skill.operations.length;
  const advice = `describe in SKILL.md when to use ${count === 1 ? "its tool" : `each of its ${count} tools`}`;
  const about = { advice, sets: variables, sends: describeSent(skill) };
  return { id, format: "module", files: () => apiSkillFiles(skill), ...about };
}

/** Describes which variables the skill sends, and where. The API description decides both. */
function describeSent(skill: ApiSkill): string | undefined {
  const { address } = skill.api;
  const place = address === undefined ? `the address in ${skill.prefix}_URL` : new URL(address).host;
  const sent = sentVariables(skill);
  return sent.length === 0 ? undefined : `${sent.join(", ")} to ${place}`;
}

/** First word of variable names that no known program uses. */
const OWN_WORD = "SKILL";

/**
 * Chooses names of variables that are not set. The title of a description must not choose a key that is set for
 * another program, now or later.
 */
function choosePrefix(id: string, api: ApiDescription, env: Environment): string {
  const plain = id.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
  const own = `${OWN_WORD}_${plain}`;
  const namesOf = (prefix: string) => apiSkillVariables({ prefix, api }).map(({ name }) => name);
  const isSet = (name: string) => env[name] !== undefined;
  const given = /^\d/.test(plain) ? `API_${plain}` : plain;
  if (!KNOWN_WORDS.has(given.split("_")[0] ?? "") && !namesOf(given).some(isSet)) return given;
  const taken = namesOf(own).find(isSet);
  if (taken === undefined) return own;
  throw usageError(
    `${taken} is already set, and the skill would use its value`,
    "unset it, or choose another id: skills new ID --from openapi FILE",
  );
}

/** First words of variables that the built-in skills, model providers, clouds and CI systems read. */
const KNOWN_WORDS = new Set([
  ...[...skillVariables.readable, ...skillVariables.secret].map((name) => name.split("_")[0] ?? ""),
  ...knownWords,
]);

function choose(all: readonly ApiOperation[], chosen: readonly string[], file: string): readonly ApiOperation[] {
  if (chosen.length === 0) {
    const fit = all.filter(isFit);
    if (fit.length === 0) throw usageError(`${file} has no GET operation to read with`);
    if (fit.length <= MOST_UNCHOSEN) return fit;
    throw usageError(`${file} has ${fit.length} operations that read: select some with --operation`, listed(fit));
  }
  const found = new Set(chosen.flatMap((pattern) => named(pattern, all, file)));
  return all.filter((operation) => found.has(operation));
}

function named(pattern: string, all: readonly ApiOperation[], file: string): readonly ApiOperation[] {
  const source = pattern.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*+/g, ".*");
  const fits = new RegExp(`^${source}$`, "is");
  const found = all.filter((one) => namesOf(one).some((name) => fits.test(name)));
  const fit = found.filter(isFit);
  const [first] = found;
  if (fit.length > 0 && (pattern.includes("*") || fit.length === found.length)) return fit;
  if (first) throw usageError(`${pattern} cannot become a tool: ${first.unfit}`);
  const near = didYouMean(pattern, all.flatMap(namesOf));
  throw usageError(`${file} has no operation ${pattern}`, near ?? listed(all.filter(isFit)));
}

const isFit = ({ unfit }: ApiOperation) => unfit === undefined;

function namesOf({ name, id, method, path }: ApiOperation): readonly string[] {
  return [name, ...(id === undefined ? [] : [id]), ...(method === "GET" ? [path] : []), `${method} ${path}`];
}

function listed(operations: readonly ApiOperation[]): string {
  const names = operations.slice(0, MOST_LISTED).map(({ name }) => name);
  const left = operations.length - names.length;
  return `it has ${names.join(", ")}${left > 0 ? ` and ${left} more` : ""}`;
}
