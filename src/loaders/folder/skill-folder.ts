import { isUtf8 } from "node:buffer";
import { closeSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { faultOfHost, parseDeclaredHost } from "../../core/base/address/declared-host.ts";
import type { Diagnostic, DiagnosticCode } from "../../core/base/diagnostic.ts";
import { attempt, messageOf } from "../../core/base/errors.ts";
import { isObject, isTexts } from "../../core/base/values.ts";
import { CONFIG_FORMATS } from "../../core/skill/availability/config-form.ts";
import { readReachMaps } from "../../core/skill/formats/tool-reach.ts";
import { mcpServerSchema } from "../../core/skill/mcp-server.ts";
import { CATEGORIES, type ConfigField, type Skill } from "../../core/skill/skill.ts";
import { inFolder, isWithin, openPlainNow } from "../../files/files.ts";
import { type Frontmatter, type NoFrontmatter, parseFrontmatter } from "../text/frontmatter.ts";
import type { Place } from "../text/yaml-text.ts";
import { openContents } from "./skill-contents.ts";

export type SkillFolder = Readonly<ReturnType<typeof openRealFolder>>;

/** Checks whether a readable file does not contain a word. */
export function lacksWord(folder: SkillFolder, file: string, word: string): boolean {
  const text = attempt(() => folder.read(file));
  return text !== undefined && !new RegExp(`\\b${word.replace(/\W/g, "\\$&")}\\b`).test(text);
}

const MOST_BYTES = 1024 * 1024;

/** Opens a skill's folder. Returns undefined if the path is not a folder. */
export function openSkillFolder(path: string): SkillFolder | undefined {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return undefined;
  return openRealFolder(realpathSync.native(path), basename(path));
}

/** Opens a folder whose path contains no links. `name` is its name as it was found. */
export function openRealFolder(directory: string, name: string) {
  const entries = new Map(readdirSync(directory, { withFileTypes: true }).map((entry) => [entry.name, entry]));
  const names: ReadonlySet<string> = new Set(entries.keys());
  /** Returns a file's text, or undefined if there is none. Throws if it is too large, not UTF-8, or outside. */
  const read = (file: string) => {
    if (entries.get(file)?.isFile()) return readPlain(directory, file);
    return entries.has(file.split("/")[0] ?? "") ? readWithin(directory, file) : undefined;
  };
  /** Checks whether a direct entry was a link when the folder was read. */
  const isLink = (entry: string) => entries.get(entry)?.isSymbolicLink() === true;
  return { directory, name, names, isLink, contents: openContents({ path: directory }), read };
}

/** Reads a file that was not a link when the folder was read. Throws if it is one now. */
function readPlain(directory: string, file: string): string {
  const { file: descriptor, stats } = openPlainNow(inFolder(directory, file));
  try {
    if (stats.size > MOST_BYTES) throw new Error(`${file} has more than 1 MB`);
    return decode(file, readFileSync(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

function readWithin(directory: string, file: string): string | undefined {
  const path = join(directory, file);
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return undefined;
  const real = realpathSync.native(path);
  if (!isWithin(directory, real)) throw new Error(`${file} is a link that leads out of the folder`);
  return readPlain(directory, relative(directory, real));
}

/** Decodes UTF-8. Throws on invalid bytes, because replacing them would change names and commands. */
function decode(file: string, bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new Error(`${file} is not UTF-8 text`);
  return bytes.toString("utf8");
}

/** Folders that contain no skills and are not part of one. */
export const SKIPPED: ReadonlySet<string> = new Set(["node_modules", ".git"]);

/** Skill that a SKILL.md alone describes, which has no tools. */
export interface SkillDocument extends Skill {
  /** Frontmatter as written, including unknown keys. */
  readonly frontmatter: { readonly [key: string]: unknown };
  /** Problems that do not prevent its use. */
  readonly diagnostics: readonly Diagnostic[];
  position(path: readonly (string | number)[]): Place;
}

/** SKILL.md of a folder, read and parsed once, or the reason why it has no frontmatter. */
export type OpenDocument =
  | { readonly file: string; readonly text: string; readonly parsed: Frontmatter }
  | { readonly file: string; readonly fault: DocumentFault };
export interface DocumentFault extends Place {
  readonly lacks: NoFrontmatter["lacks"] | "file" | "text";
  readonly message: string;
  /** Text after the frontmatter, as far as it could be read. */
  readonly body: string;
}

export function openDocument({ directory, read }: SkillFolder): OpenDocument {
  const file = inFolder(directory, "SKILL.md");
  const refuse = (lacks: "file" | "text", message: string) => ({ file, fault: { lacks, message, body: "" } });
  try {
    const text = read("SKILL.md");
    if (text === undefined) return refuse("file", "there is no such file");
    const parsed = parseFrontmatter(text);
    return "message" in parsed ? { file, fault: parsed } : { file, text, parsed };
  } catch (error) {
    return refuse("text", messageOf(error).split("\n")[0] ?? "");
  }
}

/**
 * Returns a document's parts for formats that require no frontmatter. Frontmatter with YAML errors has no fields. The
 * body is trimmed.
 */
export function looseParts(document: OpenDocument) {
  const none: Frontmatter["fields"] = {};
  if ("fault" in document) return { fields: none, body: document.fault.body.trim(), fault: document.fault };
  const { fields, repaired, ...rest } = document.parsed;
  const body = rest.body.trim();
  if (!repaired) return { fields, body, fault: undefined };
  const fault: DocumentFault = { ...repaired, lacks: "yaml", body };
  return { fields: none, body, fault };
}

/** Reads a folder's SKILL.md leniently. Returns a diagnostic if the skill is skipped. */
export function readSkillDocument(
  folder: SkillFolder,
  document: OpenDocument = openDocument(folder),
): SkillDocument | Diagnostic {
  if ("parsed" in document) return readFields(folder, document.file, document.parsed);
  const { message, ...fault } = document.fault;
  return { ...skipped(document.file, message), ...placeOf(fault) };
}

export function skipped(file: string, message: string): Diagnostic {
  return { severity: "warning", code: "SKILL_SKIPPED", path: [], message: `skipped: ${message}`, file };
}

export function placeOf({ line, column }: Place): Place {
  return { ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) };
}

function readFields(folder: SkillFolder, file: string, parsed: Frontmatter): SkillDocument | Diagnostic {
  const { fields, body, repaired, position } = parsed;
  const { description, category, config, mcp } = fields;
  const refuse = (key: string, message: string) => ({ ...skipped(file, message), path: [key], ...position([key]) });
  const fault = nameFault(fields.name);
  const id = fault === undefined ? String(fields.name) : folder.name;
  if (fault !== undefined && !isSkillId(id)) return refuse("name", fault);
  const server = mcp === undefined ? undefined : mcpServerSchema().safeParse(mcp);
  if (server && !server.success) return refuse("mcp", "its mcp server needs a command or a url");
  const warn: Warn = (code, path, message) => ({ severity: "warning", code, path, message, file, ...position(path) });
  const hint = `write name: ${id}; until then, its folder's name is its id`;
  const diagnostics = [
    ...(fault === undefined ? [] : [{ ...warn(UNNAMED, ["name"], fault), hint }]),
    ...(repaired ? [repairedYaml(file, repaired)] : []),
    ...ignoredParts(fields, warn),
  ];
  return {
    id,
    name: id,
    description: typeof description === "string" && description.trim() ? description : `Custom skill: ${id}`,
    category: CATEGORIES.find((known) => known === category) ?? "general",
    config: readConfig(config),
    tools: [],
    instruction: body.trim() || undefined,
    mcp: server?.data,
    frontmatter: fields,
    diagnostics,
    position,
  };
}

function nameFault(name: unknown): string | undefined {
  if (typeof name !== "string" || name === "") return "its frontmatter has no name";
  if (isSkillId(name)) return undefined;
  return `"${name}" is not a skill id: use lowercase letters, digits and single hyphens, 64 at most`;
}

/** Code of the finding for an invalid name. Depending on the place, the folder's name replaces it. */
export const UNNAMED = "SKILL_NAME";

type Warn = (code: DiagnosticCode, path: Diagnostic["path"], message: string) => Diagnostic;

/** Checks for a kebab-case name with at most 64 characters. */
export function isSkillId(name: string): boolean {
  return /^(?!.*--)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(name) && name.length <= 64;
}

function repairedYaml(file: string, problem: Place & { readonly message: string }): Diagnostic {
  const message = `the frontmatter is not YAML (${problem.message}); it was read as if values with a colon were quoted`;
  const hint = 'put quotes around such values: description: "Use it when: …"';
  return { severity: "warning", code: "SKILL_YAML_REPAIRED", path: [], message, hint, file, ...placeOf(problem) };
}

/** Reads config fields. A field without `env` reads the variable named like its key. */
export function readConfig(config: unknown): Skill["config"] {
  const fields = Object.entries(isObject(config) ? config : {});
  return Object.fromEntries(fields.flatMap(([key, field]) => (isObject(field) ? [[key, readField(key, field)]] : [])));
}

function readField(key: string, field: Frontmatter["fields"]): ConfigField {
  const { description, required, env, format, schemes, secret } = field;
  return {
    description: typeof description === "string" ? description : key,
    required: required === true,
    env: typeof env === "string" ? env : key,
    format: CONFIG_FORMATS.find((each) => each === format),
    schemes: isTexts(schemes) ? schemes : undefined,
    secret: secret === false ? secret : undefined,
  };
}

/**
 * Reads the hosts in `metadata.network` of a SKILL.md, which are separated by spaces. `fault` describes an invalid value
 * or host. The valid hosts still count.
 */
export function readNetwork({ metadata }: Frontmatter["fields"]): { hosts: readonly string[]; fault?: string } {
  const network = isObject(metadata) ? metadata.network : undefined;
  if (network === undefined || network === null) return { hosts: [] };
  if (typeof network !== "string") return { hosts: [], fault: "is not text: separate hosts with spaces" };
  const named = network.split(/\s+/).filter(Boolean);
  const stray = named.find((host) => !parseDeclaredHost(host));
  const hosts = named.filter((host) => parseDeclaredHost(host));
  return { hosts, ...(stray === undefined ? {} : { fault: `has ${faultOfHost(stray)}` }) };
}

/** Reports invalid hosts, statements about the reach of tools, and parts of `config`. What is valid still counts. */
function ignoredParts(fields: Frontmatter["fields"], warn: Warn): Diagnostic[] {
  const { fault } = readNetwork(fields);
  const network = ["metadata", "network"];
  return [
    ...configProblems(fields.config, warn),
    ...(fault === undefined ? [] : [warn("SKILL_NETWORK", network, `metadata.network ${fault}; it is left out`)]),
    ...readReachMaps(fields).faults.map(({ path, message }) =>
      warn("SKILL_KEY_TYPE", path, `${message}; it is left out`),
    ),
  ];
}

function configProblems(config: unknown, warn: Warn): Diagnostic[] {
  if (config === undefined || config === null) return [];
  if (!isObject(config)) return [warn("SKILL_CONFIG", ["config"], "config is not a map of fields: it is ignored")];
  return Object.entries(config).flatMap(([key, field]) => {
    if (!isObject(field)) {
      return [warn("SKILL_CONFIG", ["config", key], `the config field ${key} is not a map: it is left out`)];
    }
    const { format } = field;
    if (format === undefined || CONFIG_FORMATS.some((known) => known === format)) return [];
    const message = `the format of the config field ${key} is ignored. It must be one of ${CONFIG_FORMATS.join(", ")}`;
    return [warn("SKILL_CONFIG", ["config", key, "format"], message)];
  });
}
