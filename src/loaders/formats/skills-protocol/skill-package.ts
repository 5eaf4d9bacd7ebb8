import { lstatSync } from "node:fs";
import { join } from "node:path";
import { describeNetwork, faultOfHost, parseDeclaredHost } from "../../../core/base/address/declared-host.ts";
import { type Diagnostic, hasErrors } from "../../../core/base/diagnostic.ts";
import { SkillflowError } from "../../../core/base/errors.ts";
import { checkJsonSchema } from "../../../core/base/schema/json-schema.ts";
import { defined, isObject, type JsonObject } from "../../../core/base/values.ts";
import {
  isPackageName,
  isPackageVersion,
  namespaceOf,
  readInputSchema,
  unimportableSegments,
} from "../../../core/skill/formats/skill-package.ts";
import { claimedEffects } from "../../../core/skill/formats/tool-reach.ts";
import type { Skill, Tool } from "../../../core/skill/skill.ts";
import {
  type FolderFormat,
  type LoadedSkill,
  type PackageDocument,
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
  skippedManifest,
  type Unreadable,
  unknownKeys,
  unreadable,
} from "../../folder/manifest.ts";
import {
  isTexts,
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
  format: "skills-protocol",
  recognises: (folder) => folder.names.has(MANIFEST),
  read(folder, host) {
    const open = openPackage(folder);
    const found = readOpen(folder, open);
    const loaded = "severity" in found ? found : packageSkill(found, host);
    return {
      loaded,
      format: "skills-protocol",
      lint: () => lintPackage(folder, open, "severity" in found ? [found] : found.diagnostics),
    };
  },
};

const MANIFEST = "skill.toml";

interface OpenPackage {
  readonly manifest: Manifest<Fields> | Unreadable;
  readonly document: OpenDocument;
}

function openPackage(folder: SkillFolder): OpenPackage {
  const file = join(folder.directory, MANIFEST);
  const manifest = folder.isLink(MANIFEST)
    ? { file, fault: "it is a link", place: {}, isRefused: true as const }
    : openMapping(folder, MANIFEST, "toml");
  return { manifest, document: openDocument(folder) };
}

/** Reads a folder with a skill.toml. Returns a diagnostic if it is not a package at all. */
export function readPackage(folder: SkillFolder): SkillPackage | Diagnostic {
  return readOpen(folder, openPackage(folder));
}

function readOpen(folder: SkillFolder, { manifest, document: open }: OpenPackage): SkillPackage | Diagnostic {
  if ("fault" in manifest) return skippedManifest(manifest);
  const { value, finding } = manifest;
  const { name, version, description, kind } = value;
  if (!isPackageName(name)) {
    const what = name === undefined ? "it has no name" : `${JSON.stringify(name)} is not the name of a package`;
    const found = finding(["name"], `skipped: ${what}: use lowercase letters, digits and dots`);
    return { ...found, severity: "warning", code: "SKILL_SKIPPED" };
  }
  const runtime = kind === "action" ? readRuntime(folder, manifest) : undefined;
  const permissions = readPermissions(manifest);
  const input = readInput(manifest);
  const document = readDocument(open);
  const found = [
    ...checkFields(manifest),
    ...(runtime && "findings" in runtime ? runtime.findings : []),
    ...permissions.findings,
    ...input.findings,
    ...document.findings,
    ...checkImportable(name, runtime, finding),
  ];
  return {
    name,
    directory: folder.directory,
    contents: folder.contents,
    version: isPackageVersion(version) ? version : "0.0.0",
    description: typeof description === "string" ? description : "",
    kind: kind === "action" ? "action" : "instruction",
    namespace: namespaceOf(name, value.namespace),
    runtime: runtime && "language" in runtime ? runtime : undefined,
    secrets: permissions.secrets,
    network: permissions.network,
    input: input.schema,
    manifest: value,
    document,
    diagnostics: found,
  };
}

function packageSkill(found: SkillPackage, host: LoaderHost): LoadedSkill {
  const { name, version, description, kind, document, diagnostics } = found;
  const fault = diagnostics.find(({ severity }) => severity === "error");
  const skill: Skill = {
    id: name,
    name: document.title ?? name,
    description,
    category: "general",
    config: Object.fromEntries(
      found.secrets.map((secret) => [secret, { description: "a secret", required: true, env: secret }]),
    ),
    tools: kind === "action" && !fault ? [packageTool(found, host)] : [],
    version,
    ...(document.body === "" ? {} : { instruction: document.body }),
  };
  return {
    skill,
    format: "skills-protocol",
    kind,
    frontmatter: document.frontmatter,
    runsCode: kind === "action",
    effects: claimedEffects([{ name }], document.frontmatter),
    ...(found.runtime ? { code: [codeOf(found, found.runtime)] } : {}),
    ...(fault ? { unavailable: { kind: "invalid", reason: fault.message } } : {}),
    package: found,
    diagnostics,
  };
}

/** Describes the code of a package, for the prompt that asks the user to trust it. */
function codeOf({ secrets, network }: SkillPackage, { entrypoint }: PackageRuntime): string {
  const given = [...secrets, ...(network ? [describeNetwork(network)] : [])];
  return `file ${entrypoint}${given.length > 0 ? `, with ${given.join(", ")}` : ""}`;
}

/** Builds the tool of a package. Its effects are unknown, so they count as writes. */
function packageTool(found: SkillPackage, host: LoaderHost): Tool {
  return {
    name: found.name,
    description: found.description,
    input_schema: found.input,
    effect: "write",
    async handler(args: JsonObject, { config, signal, logger, blobs }) {
      const limits = { wallMs: MOST_MS };
      const outcome = await runPackage({
        host,
        package: found,
        args,
        secrets: config,
        mounts: [],
        blobs: [],
        limits,
        signal,
      });
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

interface Faulty {
  readonly findings: readonly Diagnostic[];
}

function readRuntime(folder: SkillFolder, { value, finding }: Manifest<Fields>): PackageRuntime | Faulty {
  const { runtime } = value;
  if (!isObject(runtime)) return { findings: [finding(["runtime"], "needs a [runtime]: an action runs code")] };
  const { language, entrypoint, export: name } = runtime;
  const findings: Diagnostic[] = [];
  if (language !== "python" && language !== "javascript") {
    findings.push(finding(["runtime", "language"], `needs a language: "python" or "javascript"`));
  }
  if (typeof name !== "string" || !/^[A-Za-z_]\w*$/.test(name)) {
    findings.push(finding(["runtime", "export"], "needs an export: the name of a function"));
  }
  const fault = faultOfEntrypoint(folder, entrypoint);
  if (fault !== undefined) findings.push(finding(["runtime", "entrypoint"], fault));
  if (findings.length > 0) return { findings };
  const isPython = language === "python";
  const path = String(entrypoint).replace(/^\.\//, "");
  const ending = isPython ? /\.py$/ : /\.m?js$/;
  if (!ending.test(path)) {
    return { findings: [finding(["runtime", "entrypoint"], `has the entrypoint ${path}, not a ${language} file`)] };
  }
  return { language: isPython ? "python" : "javascript", entrypoint: path, export: String(name) };
}

/** Checks the entrypoint at load time as far as possible. It is resolved again at each run. */
function faultOfEntrypoint(folder: SkillFolder, entrypoint: unknown): string | undefined {
  if (typeof entrypoint !== "string" || entrypoint === "") return "needs an entrypoint: a path in the folder";
  const path = entrypoint.replace(/^\.\//, "");
  const segments = path.split("/");
  if (/[\\\0]/.test(path) || segments.some((segment) => ["", ".", ".."].includes(segment))) {
    return `has an entrypoint ${entrypoint} that is not in the folder`;
  }
  for (const [index] of segments.entries()) {
    const part = segments.slice(0, index + 1).join("/");
    const stats = lstatSync(join(folder.directory, part), { throwIfNoEntry: false });
    if (!stats) return `names the entrypoint ${entrypoint}, which does not exist`;
    if (stats.isSymbolicLink()) return `has an entrypoint ${entrypoint} that goes through a link`;
    if (index === segments.length - 1 && !stats.isFile()) return `has an entrypoint ${entrypoint} that is not a file`;
  }
  return undefined;
}

type Permissions = Pick<RunnablePackage, "secrets" | "network">;

function readPermissions({ value, finding }: Manifest<Fields>): Permissions & Faulty {
  const { permissions = {} } = value;
  const table = isObject(permissions) ? permissions : {};
  const { secrets = [], network = false } = table;
  const findings: Diagnostic[] = isObject(permissions)
    ? []
    : [finding(["permissions"], "has permissions that are not a table")];
  const isName = (name: unknown): name is string => typeof name === "string" && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
  const areSecrets = Array.isArray(secrets) && secrets.every(isName);
  if (!areSecrets)
    findings.push(finding(["permissions", "secrets"], "has secrets that are not a list of variable names"));
  const areHosts = isTexts(network);
  if (!areHosts && network !== false) {
    findings.push(finding(["permissions", "network"], "has a network that is neither a list of hosts nor false"));
  }
  const stray = areHosts ? network.find((host) => !parseDeclaredHost(host)) : undefined;
  if (stray !== undefined) findings.push(finding(["permissions", "network"], `has ${faultOfHost(stray)}`));
  const declared = areSecrets ? (secrets as readonly string[]) : [];
  return { secrets: [...new Set(declared)], network: areHosts && network.length > 0 && network, findings };
}

function readInput({ value, finding }: Manifest<Fields>) {
  const key = value.input === undefined ? "inputs" : "input";
  const schema = readInputSchema(value[key]);
  const refuse = (message: string) => ({ schema: { type: "object" }, findings: [finding([key], message)] });
  if (!schema) return refuse("has an input that is neither a JSON Schema nor a map of properties");
  const [first] = checkJsonSchema(schema, [key]);
  if (first) return refuse(`has an invalid schema: ${first.message}`);
  if (schema.type !== "object") return refuse("has an input that is not of type object");
  return { schema, findings: [] };
}

function readDocument(document: OpenDocument): PackageDocument & Faulty {
  const { file } = document;
  const finding = (severity: Diagnostic["severity"], message: string): Diagnostic => {
    return { severity, code: "SKILL_DOCUMENT", path: [], message, file };
  };
  const { fields, body, fault } = looseParts(document);
  if (fault && fault.lacks !== "markers") {
    const message = fault.lacks === "file" ? "a package needs a SKILL.md" : `SKILL.md cannot be read: ${fault.message}`;
    const nothing = { title: undefined, shortDescription: undefined, tags: [], frontmatter: {}, body: "" };
    return { ...nothing, findings: [{ ...finding("error", message), ...placeOf(fault) }] };
  }
  const { name, short_description, tags } = fields;
  const isTold = typeof short_description === "string" && short_description.trim() !== "";
  return {
    title: typeof name === "string" && name.trim() !== "" ? name.trim() : undefined,
    shortDescription: isTold ? short_description.trim() : undefined,
    tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [],
    frontmatter: fields,
    body,
    findings: isTold ? [] : [finding("warning", "SKILL.md has no short_description")],
  };
}

function checkImportable(
  name: string,
  runtime: PackageRuntime | Faulty | undefined,
  finding: Manifest["finding"],
): Diagnostic[] {
  const isPython = runtime && "language" in runtime && runtime.language === "python";
  const segments = isPython ? unimportableSegments(name) : [];
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
