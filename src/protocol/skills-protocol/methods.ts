import type { Execution, RunnablePackage } from "../../app/calls/execute.ts";
import { readSkillFile } from "../../app/skills/file.ts";
import { faultOf } from "../../app/skills/states.ts";
import type { BlobInfo, Blobs } from "../../core/base/blobs.ts";
import { SkillflowError } from "../../core/base/errors.ts";
import type { Json, JsonObject } from "../../core/base/values.ts";
import { isBlobKind, wholeText } from "../../core/engine/tools/blob.ts";
import { nameTools } from "../../core/engine/tools/disclosure.ts";
import { describeTools } from "../../core/skill/skill.ts";
import { type Catalog, isInNamespace, type ServedSkill } from "./catalog.ts";
import { invalidParams, type Method, RpcError } from "./json-rpc.ts";
import { choice, optionalObject, optionalText, positiveInteger, requiredText, texts } from "./params.ts";

export interface Service {
  readonly catalog: Catalog;
  readonly blobs: Blobs;
  readonly execution: Execution;
}

const GUIDE = "skills.protocol.guide";

export function skillsProtocol(service: Service): ReadonlyMap<string, Method> {
  return new Map(
    Object.entries(METHODS).map(([name, method]) => [name, (params, signal) => method(service, params, signal)]),
  );
}

const METHODS: Readonly<Record<string, (service: Service, ...call: Parameters<Method>) => ReturnType<Method>>> = {
  list_skills: listSkills,
  describe_skill: describeSkill,
  read_skill_file: readFile,
  execute_skill: executeSkill,
  run_code: runCode,
  create_blob: createBlob,
  read_blob: readBlob,
  load_skills_protocol_guide: loadGuide,
};

const MOST_LISTED = 1000;

async function listSkills({ catalog }: Service, params: JsonObject): Promise<Json> {
  const namespace = optionalText(params, "namespace");
  const detail = choice(params, "detail", ["names", "summary"]);
  const limit = Math.min(positiveInteger(params, "limit") ?? 50, MOST_LISTED);
  const after = readCursor(optionalText(params, "cursor"));
  const isWanted = (skill: ServedSkill) =>
    (after === undefined || skill.name > after) && (namespace === undefined || isInNamespace(skill, namespace));
  const found = catalog.skills.filter(isWanted);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return {
    skills: page.map((skill) => (detail === "names" ? nameOf(skill) : summaryOf(skill))),
    next_cursor: last && found.length > page.length ? writeCursor(last.name) : null,
  };
}

/** Encodes the last name of a page as an opaque cursor, which stays valid with any other parameters. */
function writeCursor(name: string): string {
  return Buffer.from(`after:${name}`).toString("base64url");
}

function readCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const text = Buffer.from(cursor, "base64url").toString("utf8");
  if (text.startsWith("after:") && writeCursor(text.slice("after:".length)) === cursor)
    return text.slice("after:".length);
  throw invalidParams("cursor did not come from list_skills");
}

function nameOf({ name, version }: ServedSkill): JsonObject {
  return { name, version };
}

function summaryOf(skill: ServedSkill): JsonObject {
  const { namespace, kind, entry } = skill;
  const reason = faultOf(entry);
  const summary = { ...nameOf(skill), description: entry.skill.description, namespace, kind };
  return reason === undefined ? summary : { ...summary, available: false, reason };
}

async function describeSkill({ catalog, execution }: Service, params: JsonObject, signal: AbortSignal): Promise<Json> {
  const wanted = [requiredText(params, "name"), optionalText(params, "version")] as const;
  const detail = choice(params, "detail", ["summary", "manifest", "full"]);
  const found = await catalog.find(...wanted);
  const skill = { ...found, entry: await execution.withTools(found.entry, signal) };
  const { frontmatter = {} } = skill.entry;
  return {
    skill: {
      manifest: manifestOf(skill),
      ...(detail === "manifest" ? {} : { frontmatter: frontmatter as JsonObject }),
      ...(detail === "full" ? { document: documentOf(skill), files: skill.entry.bundle?.files ?? [] } : {}),
    },
  };
}

/** Returns the instruction with its tools named as in this API. */
function documentOf({ name: action, entry: { skill } }: ServedSkill): string {
  const isMany = skill.tools.length > 1 || skill.mcp !== undefined;
  const tools = skill.tools.map(({ name }) => ({ name, exposed: isMany ? `${action}.${name}` : action }));
  return nameTools(skill.instruction ?? "", tools);
}

function manifestOf(skill: ServedSkill): JsonObject {
  const { entry } = skill;
  const own = entry.package;
  const tools = describeTools(entry.skill, entry.skill.tools);
  const isMany = tools.length > 1 || entry.skill.mcp !== undefined;
  const only = isMany ? undefined : tools[0];
  return {
    ...(own ? (own.manifest as JsonObject) : {}),
    format: entry.format,
    available: true,
    ...summaryOf(skill),
    ...(own ? { input_schema: own.input } : {}),
    ...(!own && only ? { input_schema: only.input_schema } : {}),
    ...(only?.output_schema ? { output_schema: only.output_schema } : {}),
    ...(isMany
      ? {
          tools: tools.map(({ name, description, input_schema, effect }) => {
            return { name: `${skill.name}.${name}`, description, input_schema, effect };
          }),
        }
      : {}),
  };
}

async function readFile({ catalog }: Service, params: JsonObject): Promise<Json> {
  const wanted = [requiredText(params, "name"), optionalText(params, "version")] as const;
  const path = requiredText(params, "path");
  const { name, version, entry } = await catalog.find(...wanted);
  const content = await readSkillFile(entry, path);
  if (typeof content === "string") return { name, version, path, content };
  if (content.reason === "large") throw new RpcError(-32006, "PayloadTooLarge", content.message);
  throw new RpcError(-32004, "FileNotFound", content.message);
}

async function executeSkill(service: Service, params: JsonObject, signal: AbortSignal): Promise<Json> {
  const { catalog, execution, blobs } = service;
  const given = fromEnvelope(params);
  const wanted = [requiredText(given, "name"), optionalText(given, "version")] as const;
  const input = readInput(given);
  const { skill, tool } = await findExecutable(catalog, ...wanted);
  refuseUnlessExecutable(skill, tool);
  for (const id of input.blobs) await findBlob(blobs, id);
  return execution.execute({ entry: skill.entry, tool, ...input, signal }).catch(refuseUnstarted);
}

function refuseUnstarted(error: unknown): never {
  if (!(error instanceof SkillflowError && error.code === "sandbox.missing")) throw error;
  throw new RpcError(-32005, "NotExecutable", error.message);
}

/** Converts the envelope `{skill, arguments}` of the declarative contract to `name` and `args`. */
function fromEnvelope(params: JsonObject): JsonObject {
  const { skill, arguments: args, ...rest } = params;
  if (skill === undefined) return params;
  const twice = ["name", "args"].find((name) => rest[name] !== undefined);
  if (twice) throw invalidParams(`${twice} is given twice: write name and args, or skill and arguments`);
  return { ...rest, name: skill, ...(args === undefined ? {} : { args }) };
}

function refuseUnlessExecutable({ name, kind, entry }: ServedSkill, tool: string | undefined): void {
  const refuse = (why: string) => new RpcError(-32005, "NotExecutable", `skill ${name} cannot be executed: ${why}`);
  if (kind === "instruction") throw refuse("it is an instruction; read it with read_skill_file");
  const fault = faultOf(entry);
  if (fault !== undefined) throw refuse(fault);
  if (tool === undefined && entry.skill.mcp) throw refuse("name one of its tools; describe_skill lists them");
  const tools = entry.skill.tools.map((each) => `${name}.${each.name}`);
  if (tool === undefined && tools.length > 1) throw refuse(`it has several tools: ${tools.join(", ")}`);
}

function readInput(params: JsonObject, limits = params) {
  return {
    args: optionalObject(params, "args") ?? {},
    blobs: [...new Set(texts(params, "input_blobs"))],
    timeoutMs: positiveInteger(limits, "timeout_ms"),
  };
}

async function findBlob(blobs: Blobs, id: string): Promise<BlobInfo> {
  const info = await blobs.info(id);
  if (!info) throw new RpcError(-32003, "BlobNotFound", `there is no blob ${id}`);
  return info;
}

/** Finds a skill by its name, or one of its tools by `<skill>.<tool>`. */
async function findExecutable(catalog: Catalog, name: string, version: string | undefined) {
  const [owner, tool] = catalog.has(name) ? [name] : ownerOf(catalog, name);
  const skill = await catalog.find(owner, version);
  const { skill: own, withheld } = skill.entry;
  // A server's tools are unknown until it is called. Tools of untrusted code are not listed.
  const isKnown = tool === undefined || own.mcp || withheld || own.tools.some((known) => known.name === tool);
  if (!isKnown) throw new RpcError(-32001, "SkillNotFound", `skill ${owner} has no tool ${tool}`);
  return { skill, tool };
}

/** Splits the name at the longest prefix that is a skill's name. */
function ownerOf(catalog: Catalog, name: string): readonly [skill: string, tool?: string] {
  for (let at = name.lastIndexOf("."); at > 0; at = name.lastIndexOf(".", at - 1)) {
    if (catalog.has(name.slice(0, at))) return [name.slice(0, at), name.slice(at + 1)];
  }
  return [name];
}

async function runCode(service: Service, params: JsonObject, signal: AbortSignal): Promise<Json> {
  requiredText(params, "language");
  choice(params, "language", ["python"]);
  const code = requiredText(params, "code");
  const entrypoint = optionalText(params, "entrypoint") ?? "main";
  const names = [...new Set(texts(params, "mount_skills"))];
  const input = readInput(params, optionalObject(params, "limits") ?? {});
  const packages = (await Promise.all(names.map((name) => findMounts(service, name)))).flat();
  for (const id of input.blobs) await findBlob(service.blobs, id);
  return service.execution.runCode({ code, entrypoint, packages, ...input, signal }).catch(refuseUnstarted);
}

async function findMounts({ catalog }: Service, name: string): Promise<readonly RunnablePackage[]> {
  const { entry } = await catalog.find(name);
  const why = faultOf(entry) ?? (entry.mounts.length > 0 ? undefined : "it has no Python function");
  if (why === undefined) return entry.mounts;
  throw new RpcError(-32005, "NotExecutable", `skill ${name} cannot be mounted: ${why}`);
}

async function createBlob({ blobs }: Service, params: JsonObject): Promise<Json> {
  const content = Buffer.from(requiredText(params, "content"), "utf8");
  const kind = requiredText(params, "kind");
  if (!isBlobKind(kind)) throw invalidParams("kind must be a MIME type such as text/plain");
  const { blob_id, size_bytes } = await blobs.create(content, kind);
  return { blob_id, size_bytes };
}

/** Largest blob read in full. Larger ones are sampled or mounted. */
const MOST_FULL = 16 * 1024 * 1024;

async function readBlob({ blobs }: Service, params: JsonObject): Promise<Json> {
  const id = requiredText(params, "blob_id");
  const mode = choice(params, "mode", ["sample_head", "sample_tail", "full"]);
  const most = positiveInteger(params, "max_bytes") ?? 2000;
  const { kind, size_bytes } = await findBlob(blobs, id);
  if (mode === "full" && size_bytes > MOST_FULL) {
    throw new RpcError(
      -32006,
      "PayloadTooLarge",
      `${id} has ${size_bytes} bytes; at most ${MOST_FULL} are read in full`,
    );
  }
  const length = mode === "full" ? size_bytes : Math.min(most, MOST_FULL, size_bytes);
  const offset = mode === "sample_tail" ? size_bytes - length : 0;
  const bytes = await blobs.read(id, offset, length);
  const preview = mode === "full" ? Buffer.from(bytes).toString("utf8") : wholeText(bytes).text;
  return { blob_id: id, kind, preview, size_bytes, truncated: length < size_bytes };
}

async function loadGuide({ catalog }: Service): Promise<Json> {
  const { entry } = await catalog.find(GUIDE);
  return { content: entry.skill.instruction ?? "" };
}
