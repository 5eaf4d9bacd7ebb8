import { resolve } from "node:path";
import { readApiDescription } from "../../../app/skills/api-description.ts";
import { SkillflowError } from "../../../core/errors.ts";
import type { ApiOperation } from "../../../core/openapi/description.ts";
import { nearest } from "../../../core/values.ts";
import type { Io } from "../../io.ts";
import type { Begun } from "./new.ts";
import { type ApiSkill, apiSkillFiles, apiSkillVariables } from "./openapi-files.ts";

/** Tools that a skill has without anybody having chosen them. */
const MOST_UNCHOSEN = 20;
const MOST_LISTED = 80;

interface Wanted {
  /** From the description's title where nothing is given. */
  readonly id: string | undefined;
  readonly file: string;
  /** Names, operation ids, paths, `GET /path`; `*` stands for anything. */
  readonly chosen: readonly string[];
}

/** A skill that reads by an API's description. */
export function skillFromOpenapi({ host }: Io, { id: given, file, chosen }: Wanted): Begun {
  const api = readApiDescription(resolve(host.cwd, file), file);
  const id =
    given ??
    api.title
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-|-$/g, "")
      .slice(0, 40);
  const skill: ApiSkill = { id, api, operations: choose(api.operations, chosen, file) };
  const variables = apiSkillVariables(skill).map(({ name, needed }) => (needed ? name : `${name} (optional)`));
  const count = skill.operations.length;
  const advice = `${count === 1 ? "one tool reads" : `${count} tools read`}; say in SKILL.md when to use ${count === 1 ? "it" : "each"}`;
  return { id, format: "module", files: () => apiSkillFiles(skill), advice, sets: variables };
}

function choose(all: readonly ApiOperation[], chosen: readonly string[], file: string): readonly ApiOperation[] {
  const fit = all.filter(({ unfit }) => unfit === undefined);
  if (chosen.length === 0) {
    if (fit.length === 0) throw wrong(`${file} has no operation that reads by GET`);
    if (fit.length <= MOST_UNCHOSEN) return fit;
    throw wrong(`${file} has ${fit.length} operations that read: choose by --operation`, listed(fit));
  }
  const found = new Set(chosen.flatMap((pattern) => named(pattern, all, file)));
  return all.filter((operation) => found.has(operation));
}

function named(pattern: string, all: readonly ApiOperation[], file: string): readonly ApiOperation[] {
  const source = pattern.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*+/g, ".*");
  const fits = new RegExp(`^${source}$`, "is");
  const found = all.filter((one) => namesOf(one).some((name) => fits.test(name)));
  const fit = found.filter(({ unfit }) => unfit === undefined);
  const [first] = found;
  if (fit.length > 0 && (pattern.includes("*") || fit.length === found.length)) return fit;
  if (first) throw wrong(`${pattern} cannot become a tool: ${first.unfit}`);
  const near = nearest(pattern, all.flatMap(namesOf));
  throw wrong(`${file} has no operation ${pattern}`, near ? `did you mean ${near}?` : listed(all.filter(isFit)));
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

function wrong(message: string, hint?: string): SkillflowError {
  return new SkillflowError("usage.invalid", message, { hint });
}
