import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseDocument, visit } from "yaml";
import * as z from "zod";
import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import { isObject, lazy, percentDecoded } from "../../../core/base/values.ts";
import { CONFIG_FORMATS } from "../../../core/skill/availability/config-form.ts";
import { REACH_MAPS, readReachMaps } from "../../../core/skill/formats/tool-reach.ts";
import { mcpServerSchema } from "../../../core/skill/mcp-server.ts";
import { CATEGORIES, type Format } from "../../../core/skill/skill.ts";
import { faultOfFile } from "../../folder/lint-contents.ts";
import { type Complain, checkShape, complainer, unknownKey } from "../../folder/manifest.ts";
import {
  type DocumentFault,
  isSkillId,
  type OpenDocument,
  placeOf,
  readNetwork,
  type SkillFolder,
} from "../../folder/skill-folder.ts";
import { type Frontmatter, splitFrontmatter } from "../../text/frontmatter.ts";

interface Document extends Frontmatter {
  readonly folder: SkillFolder;
  readonly format: Format;
  readonly problem: Complain;
}

export function checkDocument(folder: SkillFolder, document: OpenDocument, format: Format): Diagnostic[] {
  const { file } = document;
  if ("fault" in document) return checkFault(folder, document.fault, { file, format });
  const { text, parsed } = document;
  const whole = { ...parsed, folder, format, problem: complainer(file, parsed.position) };
  return [...checkText(whole, text), ...checkFields(whole), ...checkBody(whole)];
}

function checkFault(
  { names }: SkillFolder,
  fault: DocumentFault,
  { file, format }: { readonly file: string; readonly format: Format },
): Diagnostic[] {
  const { lacks } = fault;
  const code = lacks === "file" ? "SKILL_MISSING" : lacks === "text" ? "SKILL_UNREADABLE" : "SKILL_FRONTMATTER";
  if (code === "SKILL_FRONTMATTER" && format === "tool-descriptor") return [];
  const other = [...names].find((name) => name.toLowerCase() === "skill.md");
  const isMisnamed = lacks === "file" && other !== undefined;
  const message = isMisnamed ? `the file is named ${other}; its name must be SKILL.md` : fault.message;
  return [{ severity: "error", code, path: [], message, file, ...placeOf(fault) }];
}

/** Formats whose SKILL.md must be a strict Agent Skill, so that every other program can read it. */
const STRICT: ReadonlySet<Format> = new Set(["agent-skills", "skill-tools"]);

function checkText({ problem, repaired, format }: Document, text: string): Diagnostic[] {
  const found: Diagnostic[] = [];
  const hint = 'put quotes around values that contain a colon: description: "Use it when: …"';
  if (repaired)
    found.push({
      ...problem("error", "SKILL_FRONTMATTER", [], { message: repaired.message, hint }),
      ...placeOf(repaired),
    });
  if (!STRICT.has(format)) return found;
  const first = { line: 1, column: 1 };
  if (text.startsWith("\uFEFF")) {
    found.push({ ...problem("error", "SKILL_FRONTMATTER", [], "the file begins with a byte-order mark"), ...first });
  }
  const yaml = repaired ? undefined : fancyYaml(splitFrontmatter(text)?.frontmatter ?? "");
  if (yaml) {
    const message = `${yaml.what} is refused by some validators of Agent Skills`;
    found.push({ ...problem("warning", "SKILL_YAML_FANCY", [], message), line: yaml.line + 1, column: 1 });
  }
  return found;
}

/** Finds the first YAML syntax that strict readers reject: lists and maps in brackets, anchors, aliases. */
function fancyYaml(yaml: string): { readonly what: string; readonly line: number } | undefined {
  let found: { readonly what: string; readonly at: number } | undefined;
  visit(parseDocument(yaml, { prettyErrors: false, uniqueKeys: false }), {
    Collection(_, node) {
      if (!found && node.flow) found = { what: "YAML in brackets", at: node.range?.[0] ?? 0 };
      if (!found && node.anchor) found = { what: "an anchor", at: node.range?.[0] ?? 0 };
      return found ? visit.BREAK : undefined;
    },
    Alias(_, node) {
      found ??= { what: "an alias", at: node.range?.[0] ?? 0 };
      return visit.BREAK;
    },
  });
  return found && { what: found.what, line: yaml.slice(0, found.at).split("\n").length };
}

const AGENT_SKILLS_KEYS = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];
const EXTENSION_KEYS = ["category", "config", "mcp", ...REACH_MAPS];

function checkFields(document: Document): Diagnostic[] {
  const { format, fields, problem } = document;
  if (format === "skills-protocol") {
    const found = checkShape({ value: fields, problem }, protocolFields());
    return found.map((each) => ({ ...each, code: "SKILL_KEY_TYPE" }));
  }
  return [
    ...checkKeys(document),
    ...checkName(document),
    ...checkDescription(document),
    ...checkOptional(document),
    ...checkCategory(document),
    ...checkConfig(document),
    ...("mcp" in fields ? checkServer(document) : []),
    ...(OWN_KEYS.has(format) ? [] : readReachMaps(fields).faults).map(({ path, message }) =>
      problem("error", "SKILL_KEY_TYPE", path, message),
    ),
  ];
}

/** Formats whose tools state their reach elsewhere. */
const OWN_KEYS: ReadonlySet<Format> = new Set(["tool-descriptor", "module"]);

function checkKeys({ format, fields, problem }: Document): Diagnostic[] {
  if (format === "tool-descriptor") return [];
  const known = [...AGENT_SKILLS_KEYS, ...(format === "agent-skills" ? [] : EXTENSION_KEYS)];
  return Object.keys(fields).flatMap((key) => {
    if (format === "skill-tools" && EXTENSION_KEYS.includes(key)) {
      const message = `${key} is skillflow's; validators of Agent Skills refuse it`;
      return [problem("warning", "SKILL_KEY_EXTENSION", [key], message)];
    }
    if (known.includes(key)) return [];
    const found = unknownKey(problem, key, { known, severity: STRICT.has(format) ? "error" : "warning" });
    return [{ ...found, code: "SKILL_KEY_UNKNOWN", hint: `${found.hint}; put anything else below metadata` }];
  });
}

function checkName({ folder, format, fields, problem }: Document): Diagnostic[] {
  const { name } = fields;
  if (name === undefined && format === "tool-descriptor") return [];
  if (typeof name !== "string" || name.trim() === "") {
    const message = name === undefined ? "name is missing" : "name is not text";
    return [problem("error", "SKILL_NAME", ["name"], { message, hint: `name: ${folder.name}` })];
  }
  const found: Diagnostic[] = [];
  if (!isSkillId(name)) {
    // The specification allows a-z, 0-9 and hyphens, its validator more. We are strict.
    const length = [...name].length;
    const message = length > 64 ? `the name has ${length} characters` : `the name "${name}" is not allowed`;
    const hint = "use lowercase letters a-z, digits and single hyphens between them, at most 64 characters";
    found.push(problem("error", "SKILL_NAME", ["name"], { message, hint }));
  }
  if (name !== folder.name) {
    const said = { message: `the name is "${name}", the folder's "${folder.name}"`, hint: "they must be the same" };
    found.push(problem(STRICT.has(format) ? "error" : "warning", "SKILL_FOLDER_NAME", ["name"], said));
  }
  return found;
}

const MOST_DESCRIPTION = 1024;

function checkDescription({ format, fields, problem }: Document): Diagnostic[] {
  const { description } = fields;
  if (typeof description !== "string" || description.trim() === "") {
    const message = description === undefined ? "description is missing" : "description is blank or not text";
    const hint = "say what the skill does and when to use it";
    return [problem(STRICT.has(format) ? "error" : "warning", "SKILL_DESCRIPTION", ["description"], { message, hint })];
  }
  const length = [...description].length;
  if (length > MOST_DESCRIPTION) {
    const message = `the description has ${length} characters, ${MOST_DESCRIPTION} at most are allowed`;
    return [problem("error", "SKILL_DESCRIPTION", ["description"], message)];
  }
  if (!STRICT.has(format) || !/[<>]/.test(description)) return [];
  return [problem("warning", "SKILL_DESCRIPTION", ["description"], "some validators refuse < and > in a description")];
}

const MOST_COMPATIBILITY = 500;

function checkOptional({ format, fields, problem }: Document): Diagnostic[] {
  if (format === "tool-descriptor") return [];
  const found: Diagnostic[] = [];
  for (const key of ["license", "allowed-tools", "compatibility"]) {
    if (key in fields && typeof fields[key] !== "string") {
      found.push(problem("error", "SKILL_KEY_TYPE", [key], `${key} must be text`));
    }
  }
  const { compatibility, metadata } = fields;
  if (typeof compatibility === "string") {
    const length = [...compatibility].length;
    if (compatibility.trim() === "" || length > MOST_COMPATIBILITY) {
      const message = `compatibility has ${length} characters, 1 to ${MOST_COMPATIBILITY} are allowed`;
      found.push(problem("error", "SKILL_COMPATIBILITY", ["compatibility"], message));
    }
  }
  if (metadata !== undefined && !isObject(metadata)) {
    found.push(problem("error", "SKILL_KEY_TYPE", ["metadata"], "metadata must be a map of strings"));
  }
  for (const [key, value] of Object.entries(isObject(metadata) ? metadata : {})) {
    if (typeof value !== "object" || value === null || key === "network") continue;
    found.push(problem("warning", "SKILL_KEY_TYPE", ["metadata", key], `metadata.${key} is not text`));
  }
  const { fault } = readNetwork(fields);
  if (fault !== undefined) {
    found.push(problem("error", "SKILL_NETWORK", ["metadata", "network"], `metadata.network ${fault}`));
  }
  return found;
}

function checkCategory({ fields: { category }, problem }: Document): Diagnostic[] {
  if (category === undefined || CATEGORIES.some((known) => known === category)) return [];
  const said = {
    message: `the category ${JSON.stringify(category)} is unknown`,
    hint: `use one of ${CATEGORIES.join(", ")}`,
  };
  return [problem("error", "SKILL_CATEGORY", ["category"], said)];
}

const configField = lazy(() =>
  z.strictObject({
    description: z.string().min(1),
    required: z.boolean().optional(),
    env: z.optional(z.string().regex(/^[A-Za-z_]\w*$/, "is not the name of a variable")),
    secret: z.boolean().optional(),
    format: z.enum(CONFIG_FORMATS).optional(),
    schemes: z.array(z.string()).optional(),
  }),
);

function checkConfig({ fields: { config }, problem }: Document): Diagnostic[] {
  if (config === undefined) return [];
  if (!isObject(config)) return [problem("error", "SKILL_CONFIG", ["config"], "config must be a map of fields")];
  return Object.entries(config).flatMap(([key, value]) =>
    checkShape({ value, problem }, configField(), ["config", key]).map((found) => ({ ...found, code: "SKILL_CONFIG" })),
  );
}

function checkServer({ fields: { mcp }, problem }: Document): Diagnostic[] {
  const found = checkShape({ value: mcp, problem }, mcpServerSchema(), ["mcp"]);
  if (found.length > 0 || !isObject(mcp)) return found.map((fault) => ({ ...fault, code: "SKILL_MCP" }));
  const { command, url, type } = mcp;
  const refuse = (key: string, message: string) => [problem("error", "SKILL_MCP", ["mcp", key], message)];
  if (command !== undefined && url !== undefined) return refuse("url", "mcp has a command and a url: remove one");
  if (type === "stdio" && command === undefined) return refuse("type", "a stdio server needs a command");
  if (type === "http" && url === undefined) return refuse("type", "an http server needs a url");
  if (typeof url === "string" && !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)))
    return refuse("url", `"${url}" is not an http address`);
  return [];
}

/** Keys of a Skills Protocol document. They differ from Agent Skills: the name is a title. */
const protocolFields = lazy(() =>
  z.looseObject({
    name: z.string().min(1),
    short_description: z.string().min(1),
    tags: z.array(z.string()).optional(),
  }),
);

const MOST_LINES = 500;
const MOST_TOKENS = 5000;

function checkBody(document: Document): Diagnostic[] {
  const { body, bodyLine, format, fields, problem } = document;
  const at = { line: bodyLine, column: 1 };
  const found = checkReferences(document);
  const lines = body.trimEnd().split("\n").length;
  const tokens = Math.ceil(body.length / 4);
  if (lines > MOST_LINES || tokens > MOST_TOKENS) {
    const message = `the text has ${lines} lines, about ${tokens} tokens; at most ${MOST_LINES} and ${MOST_TOKENS} are recommended`;
    const hint = "move details into files below references/ and name them";
    found.push({ ...problem("warning", "SKILL_BODY_LONG", [], { message, hint }), ...at });
  }
  const needsBody = format === "agent-skills" || format === "sweny";
  if (body.trim() === "" && needsBody && fields.mcp === undefined) {
    const message = "there is no text below the frontmatter: the skill has nothing to offer";
    found.push({ ...problem("error", "SKILL_EMPTY", [], message), ...at });
  }
  return found;
}

/** Checks the files that the text names in links, or as paths in the usual folders. */
function checkReferences({ folder, body, bodyLine, problem }: Document): Diagnostic[] {
  const told = new Set<string>();
  return referencesIn(body).flatMap(({ reference, line, column }) => {
    const path = fileNamed(reference);
    if (path === undefined || told.has(path)) return [];
    told.add(path);
    const fault = faultOfReference(folder, path);
    if (fault === undefined) return [];
    const at = { line: bodyLine + line, column };
    if (fault === "missing") {
      return [{ ...problem("warning", "SKILL_FILE_MISSING", [], `there is no file ${path} in the folder`), ...at }];
    }
    const sibling = siblingOf(folder, path);
    const where =
      sibling === undefined ? "out of the skill's folder" : `to the skill ${sibling}, which may not be there`;
    const severity = sibling === undefined ? "error" : "warning";
    return [{ ...problem(severity, "SKILL_LINK_OUTSIDE", [], `${path} leads ${where}`), ...at }];
  });
}

function siblingOf({ directory }: SkillFolder, path: string): string | undefined {
  const [, name] = /^\.\.\/([^/]+)\/(?!.*(?:^|\/)\.\.(?:\/|$))/.exec(path) ?? [];
  if (name === undefined || name === "..") return undefined;
  return existsSync(join(directory, "..", name, "SKILL.md")) ? name : undefined;
}

const LINK = /\]\(\s*<?([^()\s<>]+)(?:[\s<>][^()]*)?\)/g;
const PATH = /(?<![\w/.-])((?:\.\/)?(?:scripts|references|assets)\/[\w./-]*\.\w+)(?![\w/-])/g;
/** Phrases of a sentence that names a hypothetical file. */
const SUPPOSED = /\b(?:e\.g\.|for example|such as|would)/i;

/** Finds links and paths in the text. Links in code are examples and do not count, but paths do. */
function referencesIn(body: string) {
  let isFenced = false;
  return body.split("\n").flatMap((text, line) => {
    if (/^\s*(```|~~~)/.test(text)) isFenced = !isFenced;
    const prose = isFenced ? "" : text.replace(/`[^`]*`/g, (code) => " ".repeat(code.length));
    const paths = SUPPOSED.test(prose) ? [] : text.matchAll(PATH);
    const matches = [...prose.matchAll(LINK), ...paths];
    return matches.map((match) => ({ reference: match[1] ?? "", line, column: match.index + 1 }));
  });
}

/** Returns the path of a reference. Returns undefined for URLs, anchors and patterns. */
function fileNamed(reference: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:|^#|^\/\//i.test(reference) || /[*{}$]/.test(reference)) return undefined;
  const path = reference.replace(/[#?].*/s, "").replace(/^(?:\.\/)+/, "");
  return path === "" ? undefined : percentDecoded(path);
}

function faultOfReference(folder: SkillFolder, path: string) {
  const fault = faultOfFile(folder, path.replace(/\/$/, ""));
  if (fault !== "missing" || !folder.names.has(path.replace(/\/.*/s, ""))) return fault;
  return statSync(join(folder.directory, path), { throwIfNoEntry: false })?.isDirectory() ? undefined : fault;
}
