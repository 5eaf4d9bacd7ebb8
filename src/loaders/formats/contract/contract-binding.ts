import { join } from "node:path";
import { describeNetwork, faultOfHost, parseDeclaredHost } from "../../../core/base/address/declared-host.ts";
import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import { messageOf, reportedError, SkillflowError } from "../../../core/base/errors.ts";
import { isObject, type Json, type JsonObject, parseJson } from "../../../core/base/values.ts";
import { withoutLoosenings } from "../../../core/skill/formats/tool-reach.ts";
import { mcpServerSchema } from "../../../core/skill/mcp-server.ts";
import {
  codeOfEnding,
  type ForeignCommand,
  type ForeignResult,
  type SandboxLimits,
} from "../../../core/skill/sandbox.ts";
import type { McpServerConfig, Skill, ToolContext } from "../../../core/skill/skill.ts";
import { resolveInside } from "../../folder/contain.ts";
import type { LoaderHost } from "../../folder/host.ts";
import { type Fields, type Manifest, openMapping, skippedManifest, type Unreadable } from "../../folder/manifest.ts";
import { isTexts, type SkillFolder } from "../../folder/skill-folder.ts";
import { UNCONNECTED } from "../../mcp/call.ts";
import { callScript, declaredEnv } from "../../programs/script-handler.ts";
import { agentUrl, UNASKED } from "./agent-call.ts";

/** Implementation of a contract. */
export type Binding =
  | { readonly kind: "function"; readonly file: string; readonly export?: string; readonly network: Network }
  | { readonly kind: "command"; readonly binary: string; readonly args: readonly string[] }
  | { readonly kind: "tool"; readonly skill: string; readonly tool?: string }
  | { readonly kind: "mcp"; readonly server: McpServerConfig; readonly tool: string }
  | { readonly kind: "a2a"; readonly url: string };

/** Network access of a function: none, all, or a list of hosts. */
type Network = ForeignCommand["network"];

interface BindingRead {
  /** Undefined if the binding is missing or invalid. */
  readonly binding: Binding | undefined;
  readonly findings: readonly Diagnostic[];
  /** Undefined if there is no file. */
  readonly manifest: Manifest<Fields> | Unreadable | undefined;
}

/** Reads the contract's binding, which must be exactly one of function, command, tool, mcp and a2a. */
export function readBinding(folder: SkillFolder): BindingRead {
  const name = ["binding.yml", "binding.yaml", "binding.json"].find((file) => folder.names.has(file));
  const manifest = name === undefined ? undefined : openMapping(folder, name);
  if (!manifest) return { binding: undefined, findings: [], manifest };
  const binding = bindingOf(manifest, folder);
  const isSound = !("severity" in binding);
  return { binding: isSound ? binding : undefined, findings: isSound ? [] : [binding], manifest };
}

function bindingOf(manifest: Manifest<Fields> | Unreadable, folder: SkillFolder): Binding | Diagnostic {
  if ("fault" in manifest) return { ...skippedManifest(manifest), severity: "error", code: "SKILL_MANIFEST" };
  const { value, finding } = manifest;
  const kinds = KINDS.filter((kind) => value[kind] !== undefined && value[kind] !== null);
  const [kind, another] = kinds;
  if (!kind) return finding([], `needs one of ${KINDS.join(", ")}`);
  if (another) return finding([another], `has ${kinds.join(" and ")}: it needs exactly one of ${KINDS.join(", ")}`);
  return READERS[kind](manifest, folder);
}

const KINDS = ["function", "command", "tool", "mcp", "a2a"] as const;

type Reader = (manifest: Manifest<Fields>, folder: SkillFolder) => Binding | Diagnostic;
const READERS: Readonly<Record<(typeof KINDS)[number], Reader>> = {
  function: readFunction,
  command: readCommand,
  tool: readTool,
  mcp: readMcp,
  a2a: readAgent,
};

function readFunction({ value, finding }: Manifest<Fields>, folder: SkillFolder): Binding | Diagnostic {
  const text = value.function;
  const [, file, name] = typeof text === "string" ? (/^(?:\.\/)?([^#]+)(?:#(.+))?$/.exec(text) ?? []) : [];
  if (file === undefined) return finding(["function"], "needs a function such as ./file.mjs#export");
  const fault = faultOfFile(folder, file);
  if (fault !== undefined) return finding(["function"], `names the file ${file}, which ${fault}`);
  const network = readNetwork(value.network ?? false);
  if (typeof network === "string") return finding(["network"], network);
  return { kind: "function", file, network, ...(name === undefined ? {} : { export: name }) };
}

/** Returns the network, or a message that describes the error. */
function readNetwork(network: unknown): Network | string {
  if (typeof network === "boolean") return network;
  if (!isTexts(network)) return "has a network that is neither true, nor false, nor a list of hosts";
  const stray = network.find((host) => !parseDeclaredHost(host));
  return stray === undefined ? network : `has ${faultOfHost(stray)}`;
}

/** Checks the file at load time as far as possible. It is resolved again at each call. */
function faultOfFile(folder: SkillFolder, file: string): string | undefined {
  if (file.startsWith("/") || file.includes("\\") || file.includes("\0") || file.split("/").includes("..")) {
    return "is not in the folder";
  }
  try {
    return folder.read(file) === undefined ? "does not exist" : undefined;
  } catch (error) {
    return `cannot be used: ${messageOf(error)}`;
  }
}

function readCommand({ value, finding }: Manifest<Fields>, folder: SkillFolder): Binding | Diagnostic {
  const { command } = value;
  const { binary, args = [] } = isObject(command) ? command : {};
  if (typeof binary !== "string" || binary === "")
    return finding(["command"], "needs a command with a binary and args");
  const fault = /[/\\\0]/.test(binary) ? faultOfBinary(folder, binary) : undefined;
  if (fault !== undefined) {
    const hint = "name a program of the PATH, or ./file of the folder";
    return finding(["command", "binary"], `has a binary "${binary}" that is a path ${fault}`, hint);
  }
  const isText = (arg: unknown): arg is string => typeof arg === "string" && !arg.includes("\0");
  if (!Array.isArray(args) || !args.every(isText)) {
    return finding(["command", "args"], "needs args as a list of strings");
  }
  return { kind: "command", binary, args };
}

function faultOfBinary(folder: SkillFolder, binary: string): string | undefined {
  if (!binary.startsWith("./")) return "out of the folder";
  const fault = faultOfFile(folder, binary.slice(2));
  return fault === undefined ? undefined : `which ${fault}`;
}

function readTool({ value, finding }: Manifest<Fields>): Binding | Diagnostic {
  const [, skill, tool] = typeof value.tool === "string" ? (/^([^/\s]+)(?:\/(\S+))?$/.exec(value.tool) ?? []) : [];
  if (skill === undefined) return finding(["tool"], "needs a tool as skill/tool");
  return { kind: "tool", skill, ...(tool === undefined ? {} : { tool }) };
}

function readMcp({ value, finding }: Manifest<Fields>): Binding | Diagnostic {
  const { tool, ...server } = isObject(value.mcp) ? value.mcp : {};
  const parsed = mcpServerSchema().safeParse(server);
  if (!parsed.success) return finding(["mcp"], "needs an mcp server with a command or a url, and a tool");
  if (typeof tool !== "string" || tool === "") return finding(["mcp"], "needs the tool of the mcp server");
  return { kind: "mcp", server: withoutLoosenings(parsed.data), tool };
}

function readAgent({ value: { a2a }, finding }: Manifest<Fields>): Binding | Diagnostic {
  const { url: text, ...rest } = isObject(a2a) ? a2a : {};
  const url = agentUrl(text);
  if (url === undefined) return finding(["a2a"], "needs an a2a agent with a url of http or https");
  const [unknown] = Object.keys(rest);
  return unknown === undefined
    ? { kind: "a2a", url }
    : finding(["a2a", unknown], `has a2a.${unknown}: a2a accepts only url`);
}

/** Returns the variables that a binding declares in addition to the skill's own. */
export function bindingConfig(binding: Binding | undefined): Skill["config"] {
  const names = binding?.kind === "mcp" ? Object.keys(binding.server.env ?? {}) : [];
  return Object.fromEntries(names.map((name) => [name, { description: "for its MCP server", env: name }]));
}

/** Lists the code that a bound contract runs, for the prompt that asks the user to trust it. */
export function codeOf(binding: Binding): readonly string[] {
  switch (binding.kind) {
    case "function":
      return [`file ${binding.file}${binding.network ? `, with ${describeNetwork(binding.network)}` : ""}`];
    case "command":
      return [`command ${[binding.binary, ...binding.args].join(" ")}`];
    case "mcp": {
      const { command, args = [], url = "" } = binding.server;
      return [command === undefined ? `server ${url}` : `command ${[command, ...args].join(" ")}`];
    }
    case "a2a":
      return [`agent ${binding.url}`];
    case "tool":
      return [];
  }
}

interface BindOptions {
  readonly folder: SkillFolder;
  readonly host: LoaderHost;
  readonly skill: Skill;
}

/** Carries out one call. */
export type Carry = (input: JsonObject, context: ToolContext) => Promise<Json>;

export function bindContract(binding: Binding, { folder, host, skill }: BindOptions): Carry {
  switch (binding.kind) {
    case "function": {
      const script = { directory: folder.directory, contents: folder.contents, ...binding };
      const { network } = binding;
      return (input, context) => {
        const { workDir, signal } = context;
        return callScript(host, script, input, { env: declaredEnv(skill, context), workDir, signal, network });
      };
    }
    case "command":
      return (input, context) => runCommand({ ...binding, folder, host, skill }, input, context);
    case "tool": {
      const { kind: _, ...target } = binding;
      return (input, context) => host.invoke({ ...target, arguments: input }, context);
    }
    case "mcp": {
      const { server, tool } = binding;
      return async (input, context) => {
        if (!host.callMcp) throw new SkillflowError("call.refused", UNCONNECTED);
        const env = { ...host.env, ...declaredEnv(skill, context) };
        return host.callMcp({ id: skill.id, server, tool, arguments: input, env, cwd: folder.directory }, context);
      };
    }
    case "a2a":
      return async (input, context) => {
        if (!host.askAgent) throw new SkillflowError("call.refused", UNASKED);
        return host.askAgent({ skill: skill.id, url: binding.url, arguments: input }, context);
      };
  }
}

interface Command extends BindOptions {
  readonly binary: string;
  readonly args: readonly string[];
}

/** Runs a command with the arguments as JSON on stdin, and parses stdout as JSON. */
async function runCommand(command: Command, input: JsonObject, context: ToolContext): Promise<Json> {
  const { binary, args, folder, host, skill } = command;
  const { workDir, signal } = context;
  const [program, ...given] = await Promise.all([binary, ...args].map((arg) => resolveArg(folder, arg)));
  const result = await host.runProgram({
    argv: [program ?? binary, ...given],
    stdin: JSON.stringify(input),
    env: declaredEnv(skill, context),
    mounts: [],
    cwd: workDir,
    network: true,
    limits: LIMITS,
    signal,
  });
  if (result.ended === "aborted") throw signal.reason;
  if (result.ended !== "exit") {
    throw new SkillflowError(codeOfEnding(result.ended), `${binary} was ended: ${ENDINGS[result.ended]}`);
  }
  return resultOf(binary, result);
}

/** `wallMs` is only a backstop. The caller's signal ends a call much earlier. */
const LIMITS: SandboxLimits = { wallMs: 3_600_000, outputBytes: 10 * 1024 * 1024 };

/** Resolves an argument. Relative paths, and words that name an existing file, refer to the contract's folder. */
async function resolveArg(folder: SkillFolder, arg: string): Promise<string> {
  const isPath = /^\.\.?\//.test(arg);
  const name = arg.replace(/^\.\//, "");
  if (!isPath && !folder.names.has(name.split("/")[0] ?? "")) return arg;
  const place = await resolveInside(folder.directory, name);
  if (place.inside) return place.path;
  if (place.reason === "missing") return isPath ? join(folder.directory, name) : arg;
  throw new Error(`the path ${arg} ${place.message}`);
}

function resultOf(binary: string, { code, stdout, stderr, truncated }: ForeignResult): Json {
  if (code !== 0) {
    const how = code === undefined ? "was ended by a signal" : `ended with exit code ${code}`;
    const said = stderr.trim() || stdout.trim();
    const reported = parseJson(stdout);
    const acted = isObject(reported) ? reported.acted : undefined;
    throw reportedError(`${binary} ${how}${said === "" ? "" : `: ${said}`}`, acted);
  }
  if (truncated)
    throw new SkillflowError("sandbox.limit", `${binary} printed more than ${LIMITS.outputBytes / 1024 / 1024} MB`);
  const value = parseJson(stdout);
  if (value !== undefined) return value;
  const printed = stdout.trim();
  throw new SkillflowError(
    "output.invalid",
    `${binary} printed ${printed === "" ? "nothing" : `text that is not JSON: ${printed}`}`,
  );
}

const ENDINGS: Readonly<Record<Exclude<ForeignResult["ended"], "exit" | "aborted">, string>> = {
  time: "it took too long",
  memory: "it needed too much memory",
  processes: "it started too many processes",
  disk: "it wrote too much to disk",
  output: "it printed too much",
};
