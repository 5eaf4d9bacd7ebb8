import valid from "semver/functions/valid.js";
import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import { SkillflowError } from "../../../core/base/errors.ts";
import { checkJsonSchema } from "../../../core/base/schema/json-schema.ts";
import { isObject, type JsonObject, type JsonSchema, parseJson } from "../../../core/base/values.ts";
import type { Unavailable } from "../../../core/skill/availability/unavailable.ts";
import { describeMisfit, readHints, relaxDefaults } from "../../../core/skill/formats/contract.ts";
import { readReach } from "../../../core/skill/formats/tool-reach.ts";
import type { Skill, Tool } from "../../../core/skill/skill.ts";
import { type FolderFormat, type LoadedSkill, strictly } from "../../folder/format.ts";
import {
  type Fields,
  type Manifest,
  openMapping,
  skippedManifest,
  type Unreadable,
  unreadable,
} from "../../folder/manifest.ts";
import { looseParts, openDocument, placeOf, readConfig, type SkillFolder } from "../../folder/skill-folder.ts";
import { mountOf } from "../../programs/package-run.ts";
import { type Binding, readBinding } from "./contract-binding.ts";
import { checkBinding, checkDetails } from "./lint.ts";

/** Loads folders with a declarative contract: the interface of a tool, separate from its implementation. */
export const skillContract: FolderFormat = {
  recognises: (folder) => nameOf(folder) !== undefined,
  read(folder, host) {
    const manifest = openMapping(folder, nameOf(folder) ?? "contract.yml");
    if ("fault" in manifest) {
      const found = manifest.isRefused
        ? { ...unreadable(manifest), code: "CONTRACT_SHAPE" as const }
        : unreadable(manifest);
      return { loaded: skippedManifest(manifest), format: "contract", lint: () => [found] };
    }
    const read = readBinding(folder, host);
    const loaded = loadContract(folder, manifest, read);
    const found = "severity" in loaded ? [loaded] : loaded.diagnostics;
    return {
      loaded,
      format: "contract",
      lint: (known) => [
        ...checkDetails(manifest),
        ...(read.manifest ? checkBinding(folder, known, read.manifest) : [withoutBinding(manifest)]),
        ...strictly(found.filter((each) => !isOf(read.manifest, each))),
      ],
    };
  },
};

const nameOf = ({ names }: SkillFolder) => CONTRACTS.find((name) => names.has(name));
export const CONTRACTS = ["contract.yml", "contract.yaml", "contract.json"];

/** Checks whether a finding only repeats that the binding cannot be parsed. */
function isOf(binding: Manifest | Unreadable | undefined, { file }: Diagnostic): boolean {
  return binding !== undefined && "fault" in binding && !binding.isRefused && binding.file === file;
}

/** Accepts ids such as `filesystem.search`. The first character rules out flags and paths. */
function isContractId(id: unknown): id is string {
  return typeof id === "string" && /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/.test(id);
}

function refuseId({ value, finding }: Manifest<Fields>): Diagnostic {
  const what = value.id === undefined ? "the contract has no id" : `${JSON.stringify(value.id)} is not a contract id`;
  return {
    ...finding(["id"], `skipped: ${what}: use letters, digits, ".", "-" and "_", 128 at most`),
    severity: "warning",
    code: "SKILL_SKIPPED",
  };
}

function withoutBinding({ problem }: Manifest): Diagnostic {
  const said = { message: "the contract has no implementation", hint: "write a binding.yml next to it" };
  return problem("warning", "BINDING_MISSING", [], said);
}

function loadContract(
  folder: SkillFolder,
  manifest: Manifest<Fields>,
  read: ReturnType<typeof readBinding>,
): LoadedSkill | Diagnostic {
  const { id, description, version } = manifest.value;
  if (!isContractId(id)) return refuseId(manifest);
  const document = readDocument(folder);
  const { binding, findings } = read;
  const diagnostics = [...checkContract(manifest), ...findings, ...document.findings];
  const fault = diagnostics.find((found) => found.severity === "error");
  const { target, handler, server, runs } = binding ?? {};
  const variables = Object.keys(server?.config.env ?? {}).map((env) => [env, { ...SERVER_VARIABLE, env }]);
  const base: Skill = {
    id,
    name: id,
    description: typeof description === "string" ? description.trim() : "",
    category: "general",
    config: { ...Object.fromEntries(variables), ...document.config },
    tools: [],
    instruction: document.instruction,
    version: typeof version === "string" ? version : undefined,
  };
  return {
    skill: { ...base, tools: binding && !fault ? [contractTool(base, manifest.value, binding)] : [] },
    format: "contract",
    kind: "contract",
    frontmatter: manifest.value,
    runsCode: binding !== undefined && !target,
    ...(target ? { calls: [target.skill], boundTo: target } : {}),
    code: runs,
    mounts: handler && mountOf(id, folder, handler),
    server,
    unavailable: whyUnavailable(fault, binding),
    diagnostics,
  };
}

const SERVER_VARIABLE = { description: "for its MCP server" };

function whyUnavailable(fault: Diagnostic | undefined, binding: Binding | undefined): Unavailable | undefined {
  if (fault) return { kind: "invalid", reason: fault.message };
  if (!binding) return { kind: "invalid", reason: "it has no implementation: binding.yml is missing" };
  return binding.unconnected === undefined ? undefined : { kind: "unconnected", reason: binding.unconnected };
}

/** Builds the tool. Input is validated after defaults are applied; invalid input never reaches the implementation. */
function contractTool(skill: Skill, contract: Fields, binding: Binding): Tool {
  const input = (isObject(contract.input) ? contract.input : {}) as JsonSchema;
  const output = (isObject(contract.output) ? contract.output : {}) as JsonSchema;
  return {
    name: skill.id,
    description: skill.description,
    input_schema: relaxDefaults(input),
    output_schema: output,
    ...readHints(contract.metadata),
    async handler(given: JsonObject, context) {
      const { compileSchema, fillValue } = await import("../../../core/base/schema/schema.ts");
      const { value, problems } = fillValue(input, given);
      if (problems.length > 0) throw new SkillflowError("input.invalid", describeMisfit("invalid_input", problems));
      const result = await binding.carry(skill, value as JsonObject, context);
      const isMisfit = binding.server && typeof result === "string" && compileSchema(output)(result).length > 0;
      // An MCP tool without a schema may print its JSON as text.
      return isMisfit ? (parseJson(result) ?? result) : result;
    },
  };
}

function checkContract({ value, finding }: Manifest<Fields>): Diagnostic[] {
  const { version, description, input, output, metadata } = value;
  const found: Diagnostic[] = [];
  if (typeof version !== "string") found.push(finding(["version"], `needs a version as text, such as "1.0.0"`));
  else if (valid(version) === null) found.push(finding(["version"], `has a version "${version}" that is not semver`));
  if (typeof description !== "string" || description.trim() === "") {
    found.push(finding(["description"], "needs a description, written for the model"));
  }
  if (!isObject(input) || input.type !== "object") {
    found.push(finding(["input"], "needs an input: a JSON Schema of type object"));
  } else found.push(...checkSchema(input as JsonSchema, "input", finding));
  if (!isObject(output)) found.push(finding(["output"], "needs an output: a JSON Schema"));
  else found.push(...checkSchema(output as JsonSchema, "output", finding));
  return [...found, ...checkMetadata(metadata, finding)];
}

function checkSchema(schema: JsonSchema, key: "input" | "output", finding: Manifest["finding"]): Diagnostic[] {
  const found = checkJsonSchema(schema, [key]);
  return found.map(({ path, message, hint }) => finding(path, `has an invalid schema: ${message}`, hint));
}

/** Checks the metadata. Keys are open-ended, but those that we use must be valid. */
function checkMetadata(metadata: unknown, finding: Manifest["finding"]): Diagnostic[] {
  if (metadata === undefined || metadata === null) return [];
  const warn = (path: string[], message: string): Diagnostic => ({ ...finding(path, message), severity: "warning" });
  if (!isObject(metadata)) return [warn(["metadata"], "has metadata that is not a map: it is ignored")];
  const { faults } = readReach(metadata);
  const reach = faults.map(({ path, message }) =>
    warn(["metadata", ...path], `has metadata that is ignored: ${message}`),
  );
  const hints = ["side_effects", "idempotent"].flatMap((key) =>
    metadata[key] === undefined || typeof metadata[key] === "boolean"
      ? []
      : [warn(["metadata", key], `has a ${key} that is neither true nor false: it is ignored`)],
  );
  return [...hints, ...reach];
}

/** Reads the config and the instructions from a contract's SKILL.md, which needs no frontmatter. Ignores its name. */
function readDocument(folder: SkillFolder) {
  const document = openDocument(folder);
  const { fields, body, fault } = looseParts(document);
  if (fault?.lacks === "yaml" || fault?.lacks === "text") {
    const message = `the contract's SKILL.md is not used: ${fault.message}`;
    const at = { path: [], file: document.file, ...placeOf(fault) };
    const finding: Diagnostic = { severity: "warning", code: "SKILL_DOCUMENT", message, ...at };
    return { config: {}, instruction: undefined, findings: [finding] };
  }
  return { config: readConfig(fields.config), instruction: body === "" ? undefined : body, findings: [] };
}
