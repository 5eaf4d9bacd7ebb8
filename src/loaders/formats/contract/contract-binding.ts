import { join } from "node:path";
import { describeNetwork, faultOfHost, parseDeclaredHost } from "../../../core/base/address/declared-host.ts";
import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import { messageOf, NothingDone, reportedError, SkillflowError } from "../../../core/base/errors.ts";
import { defined, isObject, isTexts, type Json, type JsonObject, parseJson } from "../../../core/base/values.ts";
import { withoutLoosenings } from "../../../core/skill/formats/tool-reach.ts";
import { mcpServerSchema } from "../../../core/skill/mcp-server.ts";
import {
  codeOfEnding,
  type ForeignCommand,
  type ForeignResult,
  type SandboxLimits,
} from "../../../core/skill/sandbox.ts";
import type { McpServerConfig, Skill, ToolContext } from "../../../core/skill/skill.ts";
import { resolveInsideNow } from "../../folder/contain.ts";
import type { BoundTo } from "../../folder/format.ts";
import type { LoaderHost } from "../../folder/host.ts";
import { type Fields, type Manifest, openMapping, skippedManifest, type Unreadable } from "../../folder/manifest.ts";
import type { SkillFolder } from "../../folder/skill-folder.ts";
import { UNCONNECTED } from "../../mcp/call.ts";
import { callScript, declaredEnv } from "../../programs/script-handler.ts";
import { agentUrl, UNASKED } from "./agent-call.ts";

export interface Binding {
  /** Code that it runs, for the prompt that asks the user to trust it. Empty for a tool of another skill. */
  readonly runs: readonly string[];
  readonly target?: BoundTo;
  readonly handler?: { readonly file: string; readonly export: string };
  readonly server?: { readonly config: McpServerConfig; readonly cwd: string };
  /** Reason why it cannot be used without connections. Undefined if it can be used. */
  readonly unconnected?: string | undefined;
  carry(skill: Skill, input: JsonObject, context: ToolContext): Promise<Json>;
}

/** Reads the contract's binding, which must be exactly one of function, command, tool, mcp and a2a, if there is a file. */
export function readBinding(folder: SkillFolder, host: LoaderHost) {
  const name = ["binding.yml", "binding.yaml", "binding.json"].find((file) => folder.names.has(file));
  const manifest = name === undefined ? undefined : openMapping(folder, name);
  const read = manifest && bindingOf(manifest, folder, host);
  if (!read || "carry" in read) return { binding: read, findings: [], manifest };
  return { binding: undefined, findings: [read], manifest };
}

function bindingOf(
  manifest: Manifest<Fields> | Unreadable,
  folder: SkillFolder,
  host: LoaderHost,
): Binding | Diagnostic {
  if ("fault" in manifest) return { ...skippedManifest(manifest), severity: "error", code: "SKILL_MANIFEST" };
  const { value, finding } = manifest;
  const kinds = KINDS.filter((kind) => value[kind] !== undefined && value[kind] !== null);
  const [kind, another] = kinds;
  if (!kind) return finding([], `needs one of ${KINDS.join(", ")}`);
  if (another) return finding([another], `has ${kinds.join(" and ")}: it needs exactly one of ${KINDS.join(", ")}`);
  return READERS[kind](manifest, folder, host);
}

const KINDS = ["function", "command", "tool", "mcp", "a2a"] as const;

type Reader = (manifest: Manifest<Fields>, folder: SkillFolder, host: LoaderHost) => Binding | Diagnostic;

const readFunction: Reader = ({ value, finding }, folder, host) => {
  const text = value.function;
  const [, file, name] = typeof text === "string" ? (/^(?:\.\/)?([^#]+)(?:#(.+))?$/.exec(text) ?? []) : [];
  if (file === undefined) return finding(["function"], "needs a function such as ./file.mjs#export");
  const fault = faultOfFile(folder, file);
  if (fault !== undefined) return finding(["function"], `names the file ${file}, which ${fault}`);
  const network = readNetwork(value.network ?? false);
  if (typeof network === "string") return finding(["network"], network);
  const { directory, contents } = folder;
  return {
    runs: [`file ${file}${network ? `, with ${describeNetwork(network)}` : ""}`],
    handler: { file, export: name ?? "handler" },
    carry(skill, input, context) {
      const { workDir, signal } = context;
      const script = { directory, contents, file, ...defined("export", name) };
      return callScript(host, script, input, { env: declaredEnv(skill, context), workDir, signal, network });
    },
  };
};

/** Returns the network, or a message that describes the error. */
function readNetwork(network: unknown): ForeignCommand["network"] | string {
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

const readCommand: Reader = ({ value, finding }, folder, host) => {
  const { command } = value;
  const { binary, args = [] } = isObject(command) ? command : {};
  if (typeof binary !== "string" || binary === "")
    return finding(["command"], "needs a command with a binary and args");
  const fault = /[/\\\0]/.test(binary) ? faultOfBinary(folder, binary) : undefined;
  if (fault !== undefined) {
    const hint = "name a program of the PATH, or ./file of the folder";
    return finding(["command", "binary"], `has a binary "${binary}" that is a path ${fault}`, hint);
  }
  if (!isTexts(args) || args.some((arg) => arg.includes("\0"))) {
    return finding(["command", "args"], "needs args as a list of strings");
  }
  return {
    runs: [`command ${[binary, ...args].join(" ")}`],
    async carry(skill, input, context) {
      const [program = binary, ...given] = [binary, ...args].map((arg) => resolveArg(folder, arg));
      return runCommand(host, [program, ...given], input, { binary, skill, context });
    },
  };
};

function faultOfBinary(folder: SkillFolder, binary: string): string | undefined {
  if (!binary.startsWith("./")) return "out of the folder";
  const fault = faultOfFile(folder, binary.slice(2));
  return fault === undefined ? undefined : `which ${fault}`;
}

const readTool: Reader = ({ value, finding, problem }, _, host) => {
  const [, skill, tool] = typeof value.tool === "string" ? (/^([^/\s]+)(?:\/(\S+))?$/.exec(value.tool) ?? []) : [];
  if (skill === undefined) return finding(["tool"], "needs a tool as skill/tool");
  const called = { skill, ...defined("tool", tool) };
  const refuse = (reason: string) => problem("error", "BINDING_TARGET", ["tool"], reason);
  const carry: Binding["carry"] = (_, input, context) => host.invoke({ ...called, arguments: input }, context);
  return { runs: [], target: { ...called, refuse }, carry };
};

const readMcp: Reader = ({ value, finding }, { directory: cwd }, host) => {
  const { tool, ...server } = isObject(value.mcp) ? value.mcp : {};
  const parsed = mcpServerSchema().safeParse(server);
  if (!parsed.success) return finding(["mcp"], "needs an mcp server with a command or a url, and a tool");
  if (typeof tool !== "string" || tool === "") return finding(["mcp"], "needs the tool of the mcp server");
  const config = withoutLoosenings(parsed.data);
  const { command, args = [], url = "" } = config;
  return {
    runs: [command === undefined ? `server ${url}` : `command ${[command, ...args].join(" ")}`],
    server: { config, cwd },
    unconnected: host.callMcp ? undefined : UNCONNECTED,
    async carry(skill, input, context) {
      if (!host.callMcp) throw new SkillflowError("call.refused", UNCONNECTED);
      const env = { ...host.env, ...declaredEnv(skill, context) };
      return host.callMcp({ id: skill.id, server: config, tool, arguments: input, env, cwd }, context);
    },
  };
};

const readAgent: Reader = ({ value: { a2a }, finding }, _, host) => {
  const { url: text, ...rest } = isObject(a2a) ? a2a : {};
  const url = agentUrl(text);
  if (url === undefined) return finding(["a2a"], "needs an a2a agent with a url of http or https");
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) return finding(["a2a", unknown], `has a2a.${unknown}: a2a accepts only url`);
  return {
    runs: [`agent ${url}`],
    unconnected: host.askAgent ? undefined : UNASKED,
    async carry(skill, input, context) {
      if (!host.askAgent) throw new SkillflowError("call.refused", UNASKED);
      return host.askAgent({ skill: skill.id, url, arguments: input }, context);
    },
  };
};

const READERS: Readonly<Record<(typeof KINDS)[number], Reader>> = {
  function: readFunction,
  command: readCommand,
  tool: readTool,
  mcp: readMcp,
  a2a: readAgent,
};

/** Runs a command with the arguments as JSON on stdin, and parses stdout as JSON. */
async function runCommand(
  { runProgram }: LoaderHost,
  argv: ForeignCommand["argv"],
  input: JsonObject,
  { binary, skill, context }: { readonly binary: string; readonly skill: Skill; readonly context: ToolContext },
): Promise<Json> {
  const { workDir, signal } = context;
  const result = await runProgram({
    argv,
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
function resolveArg(folder: SkillFolder, arg: string): string {
  const isPath = /^\.\.?\//.test(arg);
  const name = arg.replace(/^\.\//, "");
  if (!isPath && !folder.names.has(name.split("/")[0] ?? "")) return arg;
  const place = resolveInsideNow(folder.directory, name);
  if (place.inside) return place.path;
  if (place.reason === "missing") return isPath ? join(folder.directory, name) : arg;
  throw new NothingDone(`the path ${arg} ${place.message}`);
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
