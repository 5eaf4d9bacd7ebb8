import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { extname, join, relative } from "node:path";
import { actedOf, hasCode, messageOf, NothingDone, reportedError, SkillflowError } from "../../core/base/errors.ts";
import { isObject, type Json, type JsonObject, parseJson } from "../../core/base/values.ts";
import { quoteTheirs } from "../../core/base/voice.ts";
import { changedNumber, numberAdvice } from "../../core/skill/exact-numbers.ts";
import {
  codeOfEnding,
  type ForeignCommand,
  type ForeignResult,
  type Mount,
  readOnly,
} from "../../core/skill/sandbox.ts";
import type { Skill, ToolContext } from "../../core/skill/skill.ts";
import { isProgram } from "../../files/files.ts";
import { ownPath } from "../../files/own-files.ts";
import { resolveInsideNow } from "../folder/contain.ts";
import type { LoaderHost } from "../folder/host.ts";
import type { Contents } from "../folder/skill-contents.ts";
import { TYPESCRIPT, typescriptFolder } from "./typescript.ts";
import { mountWorkDir } from "./working-directory.ts";

/** File in a skill's folder that implements a tool. */
export interface Script {
  readonly directory: string;
  readonly file: string;
  /** Exported function to call. Defaults to `default` for JavaScript and `handler` for Python. */
  readonly export?: string;
  readonly contents?: Contents;
}

export interface ScriptCall {
  readonly env: Readonly<Record<string, string>>;
  /** Absolute path of the start directory. Read-only unless the operator passes --writable-workdir. */
  readonly workDir: string;
  readonly signal: AbortSignal;
  /** Adds `__workDir` to the input. */
  readonly withWorkDir?: boolean;
  readonly network?: ForeignCommand["network"];
}

/**
 * Runs a script in a child process. The input goes to stdin as JSON, never to the arguments.
 *
 * - Other output is discarded. A file that is not a module prints its result as JSON.
 * - Throws an Error for the model with the handler's message, or with the way the child ended. If the signal is
 *   aborted, throws the signal's reason.
 */
export async function callScript(host: LoaderHost, script: Script, input: JsonObject, call: ScriptCall): Promise<Json> {
  // The folder may have changed since it was loaded.
  const place = resolveInsideNow(script.directory, script.file);
  if (!place.inside) throw new NothingDone(`the script ${script.file} ${place.message}`);
  const { path } = place;
  const mark = `skillflow-result-${randomUUID()}:`;
  const runner = runnerOf(script, path, { mark, nodePath: host.nodePath });
  const { env, workDir, signal, network = false } = call;
  const command: ForeignCommand = {
    argv: runner.argv,
    stdin: JSON.stringify(call.withWorkDir ? { ...input, __workDir: workDir } : input),
    env,
    mounts: outerFirst([
      mountWorkDir(host, workDir, [script.directory, ...runner.needs]),
      readOnly(script.directory),
      ...runner.needs.map((path) => readOnly(path)),
      ...copiesOf(host, script),
    ]),
    cwd: workDir,
    network,
    limits: SCRIPT_LIMITS,
    signal,
  };
  let result: ForeignResult;
  try {
    result = await host.runForeign(command);
  } catch (error) {
    if (hasCode(error, "sandbox.missing") && /\.m?js$/.test(path))
      return interpretScript(host, { ...script, path }, command);
    throw error instanceof SkillflowError ? notRun(error, script.file, runner.program) : error;
  }
  if (result.ended === "aborted") throw signal.reason;
  try {
    return resultOf(result, script.file, mark);
  } catch (error) {
    const isReadOnly = !host.writable && hasCode(error, "EROFS");
    throw isReadOnly ? reportedError(`${messageOf(error)} (${WHERE})`, actedOf(error)) : error;
  }
}

const WHERE =
  "code may only read the working directory; write temporary files to the folder that TMPDIR names, or run with the option writable-workdir";

/** Returns the environment of a handler: the skill's resolved config, under the variables that its fields name. */
export function declaredEnv(
  { config }: Pick<Skill, "config">,
  context: Pick<ToolContext, "config">,
): Record<string, string> {
  const named = Object.entries(context.config).map(([key, value]) => [config[key]?.env ?? key, value]);
  return Object.fromEntries(named);
}

const MEGABYTE = 1024 * 1024;

/** `wallMs` is only a backstop. The caller's signal ends a call much earlier. */
export const SCRIPT_LIMITS = {
  wallMs: 3_600_000,
  outputBytes: 10 * MEGABYTE,
  memoryBytes: 1024 * MEGABYTE,
  fileBytes: 1024 * MEGABYTE,
  processes: 128,
} as const;

interface Runner {
  /** Program named in the error message if it cannot be started. */
  readonly program: string;
  readonly argv: ForeignCommand["argv"];
  /** Folders that the program reads in addition to the skill's folder. */
  readonly needs: readonly string[];
}

function runnerOf(script: Script, path: string, { mark, nodePath }: { mark: string; nodePath: string }): Runner {
  const { file, directory, contents } = script;
  const elsewhere = contents?.outside() ?? [];
  const runners = runnersFolder();
  const javascript = (...more: string[]): ForeignCommand["argv"] => {
    const runner = join(runners, "javascript.mjs");
    return [nodePath, runner, path, script.export ?? "default", mark, directory, JSON.stringify(elsewhere), ...more];
  };
  switch (extname(file)) {
    case ".js":
    case ".mjs":
      return { program: "Node", argv: javascript(), needs: [runners] };
    case ".ts":
    case ".mts": {
      const typescript = typescriptFolder();
      return { program: "Node", argv: javascript(join(typescript, TYPESCRIPT)), needs: [runners, typescript] };
    }
    case ".py": {
      // -B stops Python from writing compiled files to the skill's folder.
      const flags = ["-B", "-X", "utf8", join(runners, "python.py")];
      return {
        program: "Python",
        argv: ["python3", ...flags, path, script.export ?? "handler", mark, JSON.stringify([directory, ...elsewhere])],
        needs: [runners],
      };
    }
    case ".sh":
      return { program: "sh", argv: ["sh", path], needs: [] };
    default:
      if (isProgram(path)) return { program: "the program that its first line names", argv: [path], needs: [] };
      throw new NothingDone(
        `the script ${file} cannot run: it is neither executable nor a .js, .mjs, .ts, .py or .sh file`,
      );
  }
}

export const runnersFolder = (): string => ownPath("runners", "src/loaders/programs/runners");

/** Mounts private copies over folders that could change between the check and the start. */
function copiesOf(host: LoaderHost, { directory, contents }: Script): readonly Mount[] {
  const places = contents ? [directory, ...contents.outside()] : [];
  const mounts = places.map((target) => readOnly(contents?.sourceOf(target, host) ?? target, target));
  return mounts.filter(({ source, target }) => source !== target);
}

/** Sorts mounts so that a nested folder keeps its own mode. If two mounts have the same target, the later one wins. */
function outerFirst(mounts: readonly Mount[]): readonly Mount[] {
  const byTarget = new Map(mounts.map((mount) => [mount.target, mount]));
  return [...byTarget.values()].sort((a, b) => a.target.length - b.target.length);
}

/** Runs the module in an interpreter without files, network or variables. Used if there is no sandbox. */
async function interpretScript(
  host: LoaderHost,
  script: Script & { readonly path: string },
  { stdin, signal }: ForeignCommand,
): Promise<Json> {
  const { directory, contents } = script;
  const source = contents?.sourceOf(directory, host) ?? directory;
  const module = await readFile(join(source, relative(directory, script.path)), "utf8");
  const input = JSON.parse(stdin) as JsonObject;
  const limits = { wallMs: SCRIPT_LIMITS.wallMs, outputBytes: SCRIPT_LIMITS.outputBytes };
  const end = await host.runJavaScript({ module, name: script.export ?? "default", input, limits, signal });
  if (end.ended === "returned") return end.value;
  if (end.ended === "aborted") throw signal.reason;
  // The interpreter has no files and no network, so a failed script cannot have changed anything.
  if (end.ended === "threw") throw new NothingDone(end.message);
  throw new SkillflowError(codeOfEnding(end.ended), `the script ${script.file} ${ENDINGS[end.ended]}`, { acted: "no" });
}

function notRun(error: SkillflowError, file: string, program: string): SkillflowError {
  const { code, hint, acted } = error;
  const what = code === "sandbox.failed" ? `could not be run with ${program}` : "was not run";
  const advice = hint === undefined ? "" : `; ${hint}`;
  return new SkillflowError(code, `the script ${file} ${what}: ${error.message}${advice}`, { cause: error, acted });
}

function resultOf(result: ForeignResult, file: string, mark: string): Json {
  const marked = result.stdout.lastIndexOf(mark);
  // The runner's line: `{"result": …}` or `{"error": "…", "code": "EROFS"}`.
  const line = marked === -1 ? "" : (result.stdout.slice(marked + mark.length).split("\n")[0] ?? "");
  const outcome = parseJson(line);
  const ended = (how: ForeignResult["ended"]) => {
    return new SkillflowError(codeOfEnding(how), `the script ${file} ${ENDINGS[how] ?? "was ended"}`);
  };
  if (result.ended !== "exit") throw ended(result.ended);
  if (isObject(outcome)) {
    const { error, code, acted, result: value } = outcome as JsonObject;
    if (typeof error !== "string") return exact(line, file, value ?? null);
    throw Object.assign(reportedError(withRefusals(error, result.stderr), acted), { code });
  }
  if (result.truncated) throw ended("output");
  if (marked !== -1) throw invalidOutput(`the script ${file} returned a result that is nested too deeply`);
  if (result.code !== 0) throw failureOf(result, file);
  return printedResult(result, file);
}

const ENDINGS: Readonly<Record<string, string>> = {
  time: "took too long and was ended",
  memory: `needed more than ${SCRIPT_LIMITS.memoryBytes / MEGABYTE} MB of memory and was ended`,
  processes: `started more than ${SCRIPT_LIMITS.processes} processes and was ended`,
  disk: "wrote too much to disk and was ended",
  output: `printed more than ${SCRIPT_LIMITS.outputBytes / MEGABYTE} MB`,
};

/** Adds the sandbox's network refusals to an error message such as "fetch failed". */
export function withRefusals(error: string, stderr: string): string {
  return [quoteTheirs(error), ...(stderr.match(REFUSED) ?? [])].join("\n");
}

const REFUSED = /^skillflow: \S+ was refused: .+$/gm;

/** Returns the error that the script reported, or all its output. The output is truncated later, after redaction. */
function failureOf({ code, stdout, stderr }: ForeignResult, file: string): Error {
  const said = parseJson(stdout);
  if (isObject(said) && typeof said.error === "string" && said.error !== "")
    return reportedError(said.error, said.acted);
  const how = code === undefined ? "was ended by a signal" : `ended with exit code ${code}`;
  const printed = stderr.trim() || stdout.trim();
  return new Error(`the script ${file} ${how}${printed === "" ? "" : `: ${printed}`}`);
}

function printedResult({ stdout, stderr }: ForeignResult, file: string): Json {
  const text = stdout.trim();
  if (text === "") {
    const printed = stderr.trim();
    throw invalidOutput(`the script ${file} ended without a result${printed === "" ? "" : `: ${printed}`}`);
  }
  const value = parseJson(text);
  if (value !== undefined) return exact(text, file, value);
  throw invalidOutput(`the script ${file} printed text that is not JSON: ${text}`);
}

/** Returns the value that was read from a script's text. Throws if reading changed a number of Python. */
function exact(text: string, file: string, value: Json): Json {
  const number = extname(file) === ".py" ? changedNumber(text) : undefined;
  if (number === undefined) return value;
  throw invalidOutput(`the script ${file} returned ${numberAdvice(number)}: return it as text`);
}

function invalidOutput(message: string): SkillflowError {
  return new SkillflowError("output.invalid", message);
}
