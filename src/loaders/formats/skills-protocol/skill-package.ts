import { lstatSync, statSync } from "node:fs";
import { describeNetwork, faultOfHost, parseDeclaredHost } from "../../../core/base/address/declared-host.ts";
import { type Diagnostic, hasErrors } from "../../../core/base/diagnostic.ts";
import { attempt, SkillflowError } from "../../../core/base/errors.ts";
import { checkJsonSchema } from "../../../core/base/schema/json-schema.ts";
import { defined, isObject, isTexts, type JsonObject, type JsonSchema, textAt } from "../../../core/base/values.ts";
import {
  isPackageName,
  isPackageVersion,
  namespaceOf,
  readInputSchema,
  unimportableSegments,
} from "../../../core/skill/formats/skill-package.ts";
import { claimedEffects } from "../../../core/skill/formats/tool-reach.ts";
import type { Tool } from "../../../core/skill/skill.ts";
import { inFolder } from "../../../files/files.ts";
import { resolveInsideNow } from "../../folder/contain.ts";
import {
  type FolderFormat,
  type LoadedSkill,
  type PackageRuntime,
  type RunnablePackage,
  type SkillPackage,
  strictly,
} from "../../folder/format.ts";
import type { LoaderHost } from "../../folder/host.ts";
import {
  type Fields,
  type Manifest,
  openMapping,
  type Path,
  skippedManifest,
  type Unreadable,
  unknownKeys,
  unreadable,
} from "../../folder/manifest.ts";
import {
  lacksWord,
  looseParts,
  type OpenDocument,
  openDocument,
  placeOf,
  type SkillFolder,
} from "../../folder/skill-folder.ts";
import { keepMade, runPackage } from "../../programs/package-run.ts";
import { checkDocument } from "../agent-skills/lint.ts";

/** Loads folders with a skill.toml: Skills Protocol packages. */
export const skillPackage: FolderFormat = {
  recognises: (folder) => folder.names.has(MANIFEST),
  read(folder, host) {
    const manifest = folder.isLink(MANIFEST)
      ? { file: inFolder(folder.directory, MANIFEST), fault: "it is a link", place: {}, isRefused: true as const }
      : openMapping(folder, MANIFEST, "toml");
    const open = { manifest, document: openDocument(folder) };
    const loaded = loadPackage(folder, open, host);
    return {
      loaded,
      format: "skills-protocol",
      lint: () => lintPackage(folder, open, "severity" in loaded ? [loaded] : loaded.diagnostics),
    };
  },
};

const MANIFEST = "skill.toml";

interface OpenPackage {
  readonly manifest: Manifest<Fields> | Unreadable;
  readonly document: OpenDocument;
}

function loadPackage(
  folder: SkillFolder,
  { manifest, document: open }: OpenPackage,
  host: LoaderHost,
): LoadedSkill | Diagnostic {
  if ("fault" in manifest) return skippedManifest(manifest);
  const { value, finding } = manifest;
  const { name, version, description, kind } = value;
  if (!isPackageName(name)) {
    const what = name === undefined ? "it has no name" : `${JSON.stringify(name)} is not the name of a package`;
    const found = finding(["name"], `skipped: ${what}: use lowercase letters, digits and dots`);
    return { ...found, severity: "warning", code: "SKILL_SKIPPED" };
  }
  const found = checkFields(manifest);
  const refuse: Refuse = (path, message) => void found.push(finding(path, message));
  const target: SkillPackage = {
    name,
    directory: folder.directory,
    contents: folder.contents,
    namespace: namespaceOf(name, value.namespace),
    runtime: kind === "action" ? readRuntime(folder, value.runtime, refuse) : undefined,
    ...readPermissions(value.permissions, refuse),
    input: readInput(value, refuse),
    manifest: value,
  };
  const { title, instruction, frontmatter, findings } = readDocument(open);
  found.push(...findings, ...checkImportable(target, finding));
  const fault = found.find(({ severity }) => severity === "error");
  const about = typeof description === "string" ? description : "";
  const secrets = target.secrets.map((env) => [env, { description: "a secret", required: true, env }]);
  return {
    skill: {
      id: name,
      name: title ?? name,
      description: about,
      category: "general",
      config: Object.fromEntries(secrets),
      tools: kind === "action" && !fault ? [packageTool(target, about, host)] : [],
      version: isPackageVersion(version) ? version : "0.0.0",
      instruction,
    },
    format: "skills-protocol",
    kind: kind === "action" ? "action" : "instruction",
    frontmatter,
    runsCode: kind === "action",
    effects: claimedEffects([{ name }], frontmatter),
    ...(target.runtime ? { code: [codeOf(target, target.runtime)] } : {}),
    ...(fault ? { unavailable: { kind: "invalid", reason: fault.message } } : {}),
    package: target,
    diagnostics: found,
  };
}

/** Describes the code of a package, for the prompt that asks the user to trust it. */
function codeOf({ secrets, network }: SkillPackage, { entrypoint }: PackageRuntime): string {
  const given = [...secrets, ...(network ? [describeNetwork(network)] : [])];
  return `file ${entrypoint}${given.length > 0 ? `, with ${given.join(", ")}` : ""}`;
}

/** Builds the tool of a package. Its effects are unknown, so they count as writes. */
function packageTool(found: SkillPackage, description: string, host: LoaderHost): Tool {
  return {
    name: found.name,
    description,
    input_schema: found.input,
    effect: "write",
    async handler(args: JsonObject, { config, signal, logger, blobs }) {
      const run = { host, package: found, args, secrets: config, mounts: [], blobs: [], signal };
      const outcome = await runPackage({ ...run, limits: { wallMs: MOST_MS } });
      signal.throwIfAborted();
      const logs = outcome.logs.trim();
      if (logs !== "") logger.info(logs);
      if (outcome.status === "completed") return (await keepMade(outcome, blobs)).output;
      const { code, type, message, acted } = outcome.error;
      throw new SkillflowError(code, `${type}: ${message}`, defined("acted", acted));
    },
  };
}

/** Backstop only: the caller's signal ends a call much earlier. */
const MOST_MS = 3_600_000;

function checkFields({ value, finding }: Manifest<Fields>): Diagnostic[] {
  const { version, description, kind, namespace } = value;
  const found: Diagnostic[] = [];
  if (!isPackageVersion(version)) found.push(finding(["version"], `needs a version as "major.minor.patch"`));
  if (typeof description !== "string" || description.trim() === "") {
    found.push(finding(["description"], "needs a description of one line"));
  } else if (/[\r\n]/.test(description.trim())) {
    found.push(finding(["description"], "has a description of several lines; one is allowed"));
  }
  if (kind !== "action" && kind !== "instruction")
    found.push(finding(["kind"], `needs a kind: "action" or "instruction"`));
  if (namespace !== undefined && !isPackageName(namespace)) {
    found.push(finding(["namespace"], "has a namespace that is not a name: use lowercase letters, digits and dots"));
  }
  return found;
}

type Refuse = (path: Path, message: string) => void;

function readRuntime(folder: SkillFolder, runtime: unknown, refuse: Refuse): PackageRuntime | undefined {
  const { language, entrypoint, export: name } = isObject(runtime) ? runtime : {};
  const isKnown = language === "python" || language === "javascript";
  const isNamed = typeof name === "string" && /^[A-Za-z_]\w*$/.test(name);
  const fault = faultOfEntrypoint(folder, entrypoint);
  if (!isObject(runtime)) refuse(["runtime"], "needs a [runtime]: an action runs code");
  else {
    if (!isKnown) refuse(["runtime", "language"], `needs a language: "python" or "javascript"`);
    if (!isNamed) refuse(["runtime", "export"], "needs an export: the name of a function");
    if (fault !== undefined) refuse(["runtime", "entrypoint"], fault);
  }
  if (!isKnown || !isNamed || fault !== undefined) return undefined;
  const path = String(entrypoint).replace(/^\.\//, "");
  if (ENDINGS[language].test(path)) return { language, entrypoint: path, export: name };
  refuse(["runtime", "entrypoint"], `has the entrypoint ${path}, not a ${language} file`);
  return undefined;
}

const ENDINGS = { python: /\.py$/, javascript: /\.m?js$/ } as const;

/** Checks the entrypoint at load time as far as possible. It is resolved again at each run. */
function faultOfEntrypoint(folder: SkillFolder, entrypoint: unknown): string | undefined {
  if (typeof entrypoint !== "string" || entrypoint === "") return "needs an entrypoint: a path in the folder";
  const path = entrypoint.replace(/^\.\//, "");
  if (/[\\\0]/.test(path) || path.split("/").some((segment) => ["", ".", ".."].includes(segment))) {
    return `has an entrypoint ${entrypoint} that is not in the folder`;
  }
  if (isUnlinkedFile(folder.directory, path.split("/"))) return undefined;
  const place = resolveInsideNow(folder.directory, path);
  if (!place.inside && place.reason !== "outside") return `names the entrypoint ${entrypoint}, which ${place.message}`;
  if (!place.inside || place.relative !== path) return `has an entrypoint ${entrypoint} that goes through a link`;
  return statSync(place.path).isFile() ? undefined : `has an entrypoint ${entrypoint} that is not a file`;
}

/** Checks for a file that no link leads to, which needs no resolving: the folder's path is real. */
function isUnlinkedFile(folder: string, [name = "", ...below]: readonly string[]): boolean {
  const path = inFolder(folder, name);
  const stats = attempt(() => lstatSync(path));
  return below.length === 0 ? stats?.isFile() === true : stats?.isDirectory() === true && isUnlinkedFile(path, below);
}

function readPermissions(permissions: unknown = {}, refuse: Refuse): Pick<RunnablePackage, "secrets" | "network"> {
  if (!isObject(permissions)) refuse(["permissions"], "has permissions that are not a table");
  const { secrets = [], network = false } = isObject(permissions) ? permissions : {};
  const areSecrets = isTexts(secrets) && secrets.every((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (!areSecrets) refuse(["permissions", "secrets"], "has secrets that are not a list of variable names");
  const areHosts = isTexts(network);
  if (!areHosts && network !== false) {
    refuse(["permissions", "network"], "has a network that is neither a list of hosts nor false");
  }
  const stray = areHosts ? network.find((host) => !parseDeclaredHost(host)) : undefined;
  if (stray !== undefined) refuse(["permissions", "network"], `has ${faultOfHost(stray)}`);
  return { secrets: areSecrets ? [...new Set(secrets)] : [], network: areHosts && network.length > 0 && network };
}

function readInput(value: Fields, refuse: Refuse): JsonSchema {
  const key = value.input === undefined ? "inputs" : "input";
  const schema = readInputSchema(value[key]);
  const [first] = schema ? checkJsonSchema(schema, [key]) : [];
  if (!schema) refuse([key], "has an input that is neither a JSON Schema nor a map of properties");
  else if (first) refuse([key], `has an invalid schema: ${first.message}`);
  else if (schema.type !== "object") refuse([key], "has an input that is not of type object");
  else return schema;
  return { type: "object" };
}

/** Reads the SKILL.md of a package. Unlike in Agent Skills, the name in its frontmatter is a title. */
function readDocument(document: OpenDocument) {
  const finding = (severity: Diagnostic["severity"], message: string): Diagnostic => {
    return { severity, code: "SKILL_DOCUMENT", path: [], message, file: document.file };
  };
  const { fields, body, fault } = looseParts(document);
  if (fault && fault.lacks !== "markers") {
    const message = fault.lacks === "file" ? "a package needs a SKILL.md" : `SKILL.md cannot be read: ${fault.message}`;
    return { frontmatter: {}, findings: [{ ...finding("error", message), ...placeOf(fault) }] };
  }
  return {
    title: textAt(fields, "name")?.trim() || undefined,
    frontmatter: fields,
    instruction: body || undefined,
    findings: textAt(fields, "short_description")?.trim()
      ? []
      : [finding("warning", "SKILL.md has no short_description")],
  };
}

function checkImportable({ name, runtime }: SkillPackage, finding: Manifest["finding"]): Diagnostic[] {
  const segments = runtime?.language === "python" ? unimportableSegments(name) : [];
  if (segments.length === 0) return [];
  const message = `has a name that other code cannot import as skills.${name}: ${segments.join(", ")}`;
  return [{ ...finding(["name"], message), severity: "warning", code: "SKILL_NOT_IMPORTABLE" }];
}

// ---- lint

const KEYS = ["name", "version", "description", "kind", "namespace", "runtime", "permissions", "inputs", "input"];
const TABLE_KEYS: Readonly<Record<string, readonly string[]>> = {
  runtime: ["language", "entrypoint", "export"],
  permissions: ["secrets", "network"],
};

/** Checks a package: its document, what no run needs to know of its manifest, and what a run `found`. */
function lintPackage(folder: SkillFolder, open: OpenPackage, found: readonly Diagnostic[]): Diagnostic[] {
  const document = checkDocument(folder, open.document, "skills-protocol");
  const isTold = hasErrors(document); // Then the rules of the document replace the run's less specific findings.
  const other = strictly(found.filter(({ code }) => !(isTold && code === "SKILL_DOCUMENT")));
  const { manifest } = open;
  if ("fault" in manifest) return [...document, ...(manifest.isRefused ? other : [unreadable(manifest)])];
  const { value, problem } = manifest;
  const tables = Object.entries(TABLE_KEYS).flatMap(([table, known]) =>
    unknownKeys(problem, value[table], { known, path: [table] }),
  );
  return [
    ...document,
    ...unknownKeys(problem, value, { known: KEYS }),
    ...tables,
    ...checkRuntime(folder, manifest),
    ...other,
  ];
}

function checkRuntime(folder: SkillFolder, { value, problem }: Manifest<Fields>): Diagnostic[] {
  const { kind, runtime } = value;
  if (kind === "instruction" && runtime !== undefined) {
    return [problem("error", "PACKAGE_RUNTIME", ["runtime"], "an instruction has no runtime, because it is never run")];
  }
  const { entrypoint, export: name } = isObject(runtime) ? runtime : {};
  if (typeof entrypoint !== "string" || typeof name !== "string") return [];
  if (!lacksWord(folder, entrypoint.replace(/^\.\//, ""), name)) return [];
  return [problem("error", "PACKAGE_RUNTIME", ["runtime", "export"], `${entrypoint} has nothing named ${name}`)];
}
