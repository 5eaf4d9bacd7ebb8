import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Diagnostic, messageOf } from "../core/errors.ts";
import { CATEGORIES, type Category, type ConfigField, type McpServerConfig } from "../core/skill.ts";
import { isObject } from "../core/values.ts";
import { mcpServerSchema } from "../core/workflow.ts";
import { readYaml } from "./yaml-text.ts";

/** A folder with a SKILL.md, read. */
export interface SkillDocument {
  readonly id: string;
  readonly directory: string;
  readonly description: string;
  readonly category: Category;
  readonly config: Readonly<Record<string, ConfigField>>;
  readonly instruction: string | undefined;
  readonly mcp: McpServerConfig | undefined;
  /** As written, unknown keys kept. */
  readonly frontmatter: { readonly [key: string]: unknown };
}

export interface FolderScan {
  readonly documents: readonly SkillDocument[];
  readonly diagnostics: readonly Diagnostic[];
}

const MOST_FOLDERS = 2000;
const MOST_BYTES = 1024 * 1024;

/** The skills of one directory's folders, by folder name; of two that claim an id the first wins (D33). */
export function scanSkillFolders(directory: string): FolderScan {
  if (!existsSync(directory) || !statSync(directory).isDirectory()) return { documents: [], diagnostics: [] };
  const found = new Map<string, SkillDocument>();
  const diagnostics: Diagnostic[] = [];
  const names = readdirSync(directory).filter((name) => name !== "node_modules" && name !== ".git");
  for (const name of names.sort().slice(0, MOST_FOLDERS)) {
    const file = join(directory, name, "SKILL.md");
    if (!existsSync(file)) continue;
    const document = readSkillDocument(file);
    if ("severity" in document) diagnostics.push(document);
    else if (found.has(document.id))
      diagnostics.push(problem(file, `another folder beside it is skill "${document.id}" already`));
    else found.set(document.id, document);
  }
  return { documents: [...found.values()], diagnostics };
}

function problem(file: string, message: string): Diagnostic {
  return { severity: "warning", code: "SKILL_SKIPPED", path: [], message: `skipped: ${message}`, file };
}

/** Reads one SKILL.md (S12, D27, D34); a diagnostic says why it is skipped. */
export function readSkillDocument(file: string): SkillDocument | Diagnostic {
  const directory = join(file, "..");
  try {
    if (statSync(file).size > MOST_BYTES) return problem(file, "it has more than 1 MB");
    const parts = splitFrontmatter(readFileSync(file, "utf8"));
    if (!parts) return problem(file, "it does not begin with frontmatter between --- lines");
    const frontmatter: unknown = readYaml(parts.frontmatter);
    if (!isObject(frontmatter)) return problem(file, "its frontmatter is no map");
    return readFields(file, directory, frontmatter, parts.body.trim());
  } catch (error) {
    return problem(file, messageOf(error).split("\n")[0] ?? "");
  }
}

function readFields(
  file: string,
  directory: string,
  frontmatter: { readonly [key: string]: unknown },
  body: string,
): SkillDocument | Diagnostic {
  const { name, description, category, config, mcp } = frontmatter;
  if (typeof name !== "string" || name === "") return problem(file, "its frontmatter has no name");
  if (!/^(?!.*--)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(name) || name.length > 64) {
    return problem(file, `"${name}" is no skill id: use lowercase letters, digits and single hyphens, 64 at most`);
  }
  const server = mcp === undefined ? undefined : mcpServerSchema.safeParse(mcp);
  if (server && !server.success) return problem(file, "its mcp server needs a command or a url");
  return {
    id: name,
    directory,
    description: typeof description === "string" ? description : `Custom skill: ${name}`,
    category: CATEGORIES.find((known) => known === category) ?? "general",
    config: readConfig(config),
    instruction: body === "" ? undefined : body,
    mcp: server?.data,
    frontmatter,
  };
}

/** A field without `env` reads the variable named like its key (D27). */
function readConfig(config: unknown): Readonly<Record<string, ConfigField>> {
  if (!isObject(config)) return {};
  const fields = Object.entries(config).flatMap(([key, field]): [string, ConfigField][] => {
    if (!isObject(field)) return [];
    const { description, required, env } = field;
    const text = typeof description === "string" ? description : key;
    return [[key, { description: text, required: required === true, env: typeof env === "string" ? env : key }]];
  });
  return Object.fromEntries(fields);
}

/** Frontmatter and body; undefined when the text does not begin with a frontmatter block. */
export function splitFrontmatter(text: string): { readonly frontmatter: string; readonly body: string } | undefined {
  const match = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)(?:^|\r?\n)---[ \t]*(?:\r?\n|$)/.exec(text);
  return match ? { frontmatter: match[1] ?? "", body: text.slice(match[0].length) } : undefined;
}
