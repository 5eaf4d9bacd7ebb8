import { lstatSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { actedOf, attempt, callCodeOf, inputError, messageOf, SkillflowError } from "../../../core/base/errors.ts";
import { defined, type Json, type JsonObject } from "../../../core/base/values.ts";
import { wholeText } from "../../../core/engine/tools/blob.ts";
import { type Allowlist, type DescribedTool, refusedBy } from "../../../core/skill/formats/descriptor.ts";
import {
  type ArgumentValue,
  buildCommand,
  checkArguments,
  chooseExecution,
  chooseSubcommand,
  helperArguments,
  readArguments,
  splitValue,
  subcommandTokens,
  withDefaults,
} from "../../../core/skill/formats/descriptor-argv.ts";
import { addHints, limitLines } from "../../../core/skill/formats/descriptor-output.ts";
import type { Argument, Execution, Helper, SideRead } from "../../../core/skill/formats/descriptor-shapes.ts";
import { codeOfEnding, type ForeignResult, type Mount, readOnly } from "../../../core/skill/sandbox.ts";
import type { Skill, ToolContext } from "../../../core/skill/skill.ts";
import { readPlace, resolveInsideNow } from "../../folder/contain.ts";
import type { LoaderHost } from "../../folder/host.ts";
import { declaredEnv } from "../../programs/script-handler.ts";

export interface DescriptorHome {
  readonly directory: string;
  readonly host: LoaderHost;
  readonly allowlist: Allowlist;
  readonly config: Skill["config"];
  readonly tool: DescribedTool;
  /** Files that earlier calls appended to an output, for `sideRead.oncePerSession`. */
  readonly seen: Set<string>;
}

interface DescriptorCall extends DescriptorHome {
  readonly input: JsonObject;
  readonly context: ToolContext;
  /** Returns a temporary folder for this call, created on first use. */
  readonly scratch: () => string;
}

/** Runs the tool's program with the arguments on its command line. Returns its output or throws the call's error. */
export async function callDescribedTool(home: DescriptorHome, input: Json, context: ToolContext): Promise<string> {
  let made: string | undefined;
  const scratch = () => {
    made ??= mkdtempSync(join(tmpdir(), "skillflow-call-"));
    return made;
  };
  const checked = checkArguments(home.tool, input, home.host.options.descriptor);
  try {
    return await runExecution({ ...home, input: checked, context, scratch });
  } finally {
    if (made !== undefined) rmSync(made, { recursive: true, force: true });
  }
}

async function runExecution(call: DescriptorCall): Promise<string> {
  const { tool, host, allowlist, context } = call;
  const profile = host.options.descriptor;
  const execution = chooseExecution(tool, call.input);
  const subcommand = chooseSubcommand(execution, call.input);
  const refusal = refusedBy(allowlist, execution.binary, subcommand);
  if (refusal !== undefined) throw new SkillflowError("call.refused", refusal);
  const values: ArgumentValue[] = [];
  // One after another, so that an error prevents later helpers from starting.
  for (const given of readArguments(execution, call.input, profile))
    values.push(...(await resolveArgument(call, given)));
  const { argv, stdin, directory } = buildCommand(execution, subcommand, values, profile);
  const result = await runProgram(call, { argv, stdin, cwd: directory ?? context.workDir });
  const code = result.code ?? 0;
  const printed = outputOf(execution, result);
  const effective = { ...call, input: withDefaults(execution, call.input) };
  const output = await postProcess(effective, execution, { printed, code });
  const hinted = addHints(execution, { output, code, input: effective.input });
  return addSideRead(call, execution.sideRead, { values, output: limitLines(execution, hinted) });
}

// ---- values

async function resolveArgument(call: DescriptorCall, value: ArgumentValue): Promise<readonly ArgumentValue[]> {
  if (value.kind === "boolean" || value.mapping.kind === "literal") return [value];
  const { mapping } = value;
  const { kind, param, readPath, writePath, unsafePath } = mapping;
  const { workDir } = call.context;
  const resolved = { ...value, text: await resolveText(call, mapping, value.text) };
  const isAbsent = !Object.hasOwn(call.input, param) || call.input[param] === null;
  if (resolved.text === "" && value.text === "" && mapping.optional && isAbsent) return [];
  const parts = splitValue(resolved, call.tool.name);
  if (kind === "tempfile") {
    const file = join(call.scratch(), param.replace(/\W/g, "_"));
    writeFileSync(file, resolved.text, { mode: 0o600, flag: "wx" });
    return [{ ...resolved, text: file }];
  }
  if (unsafePath) return parts;
  if (readPath || writePath || kind === "workingdir") {
    return parts.map((part) => ({ ...part, text: placeInside(workDir, param, part.text) }));
  }
  const isChecked = call.host.options.descriptor === "current" && (kind === "positional" || kind === "flag");
  if (isChecked) for (const { text } of parts) refuseLink(workDir, param, text);
  return parts;
}

/** Refuses values that lead out of the working directory through a link, even if they are not declared as paths. */
function refuseLink(workDir: string, param: string, text: string): void {
  let there = text;
  while (dirname(there) !== there && !isThere(resolve(workDir, there))) there = dirname(there);
  const place = resolveInsideNow(workDir, there);
  if (!place.inside && place.reason === "outside")
    throw inputError(`parameter ${param}: the path ${text} ${place.message}`);
}

/** Replaces a value by the output of its resolveCommand. A failure keeps it (seed) or refuses the call (current). */
async function resolveText(call: DescriptorCall, mapping: Argument, text: string): Promise<string> {
  if (!mapping.resolveCommand) return text;
  try {
    const found = await runHelper(call, mapping.resolveCommand, { value: text, stdin: "" });
    return found.trim() || text;
  } catch (error) {
    if (call.host.options.descriptor === "seed" && !call.context.signal.aborted) return text;
    throw inputError(`parameter ${mapping.param} was refused: ${messageOf(error)}`);
  }
}

/** Returns the real path of a value below the working directory. The file itself may not exist yet. */
function placeInside(workDir: string, param: string, path: string): string {
  const refuse = (why: string) => inputError(`parameter ${param}: the path ${path} ${why}`);
  const missing: string[] = [];
  let wanted = path;
  let found = resolveInsideNow(workDir, wanted);
  while (!found.inside && found.reason === "missing") {
    // Writing to a dangling link would create its target.
    if (isThere(resolve(workDir, wanted))) throw refuse("is a link that leads nowhere");
    if (dirname(wanted) === wanted) break;
    missing.unshift(basename(wanted));
    wanted = dirname(wanted);
    found = resolveInsideNow(workDir, wanted);
  }
  if (!found.inside) throw refuse(found.message);
  return join(found.path, ...missing);
}

function isThere(path: string): boolean {
  return attempt(() => lstatSync(path)) !== undefined;
}

// ---- helpers: resolveCommand and postProcess

async function runHelper(
  call: DescriptorCall,
  helper: Helper,
  { value, stdin, env }: { value: string | undefined; stdin: string; env?: Command["env"] },
): Promise<string> {
  const { host, input, allowlist, directory, context } = call;
  const profile = host.options.descriptor;
  const args = helperArguments(helper.args, { value, input, profile });
  const { script, binary, subcommand } = helper;
  const command = { stdin, cwd: context.workDir, ...defined("env", env) };
  if (script !== undefined && host.options.allowScripts) {
    return printed(await runScript(call, { ...command, argv: ["sh", findScript(directory, script), ...args] }));
  }
  if (binary !== undefined && subcommand !== undefined) {
    const refusal = refusedBy(allowlist, binary, subcommand);
    if (refusal !== undefined) throw new SkillflowError("call.refused", refusal);
    const argv = [binary, ...subcommandTokens(subcommand, profile), ...args] as const;
    return printed(await runProgram(call, { ...command, argv }));
  }
  if (script !== undefined)
    context.logger.warn(`the script ${script} does not run unless your own config file sets skills.allowScripts`);
  return "";
}

function printed(result: ForeignResult): string {
  if (result.ended === "exit" && result.code === 0) return result.stdout;
  throw failureOf(result);
}

/** Finds `scripts/<name>`, or the same name with the extension `.sh`. Its real path must be in the skill's scripts/. */
function findScript(directory: string, name: string): string {
  const refuse = (why: string) => new Error(`the script ${name} ${why}`);
  if (name === "" || name.includes("..") || /[\\/\0]/.test(name)) throw refuse("must be named by a plain file name");
  const folder = resolveInsideNow(directory, "scripts");
  if (!folder.inside) throw new Error(`the skill's folder scripts ${folder.message}`);
  for (const candidate of [name, `${name.replace(/(?<=.)\.[^.]*$/, "")}.sh`]) {
    const found = resolveInsideNow(folder.path, candidate);
    if (!found.inside && found.reason !== "missing") throw refuse(found.message);
    if (found.inside && statSync(found.path).isFile()) return found.path;
  }
  throw refuse("does not exist in scripts/");
}

/** Passes a tool's output through its script or command. Returns the output unchanged if that fails. */
async function postProcess(
  call: DescriptorCall,
  { postProcess: helper }: Execution,
  { printed: output, code }: { readonly printed: string; readonly code: number },
): Promise<string> {
  if (!helper) return output;
  try {
    const env = { CHAI_EXIT_CODE: String(code) };
    const processed = await runHelper(call, helper, { value: undefined, stdin: output, env });
    return processed.trim() === "" && !helper.emptyIsResult ? output : processed;
  } catch (error) {
    if (call.context.signal.aborted) throw error;
    call.context.logger.warn(`postProcess of ${call.tool.name} failed: ${messageOf(error)}`);
    return output;
  }
}

// ---- sideRead

const MOST_SIDE_BYTES = 256 * 1024;

/** Appends a file of the folder that a parameter names. Skips it if it is missing or outside the working directory. */
async function addSideRead(
  { context, seen }: DescriptorCall,
  wanted: SideRead | undefined,
  { values, output }: { readonly values: readonly ArgumentValue[]; readonly output: string },
): Promise<string> {
  const folder = values.find((value) => value.kind === "text" && value.mapping.param === wanted?.pathParam);
  if (!wanted || folder?.kind !== "text") return output;
  const file = join(resolve(context.workDir, folder.text), wanted.filename);
  if (wanted.oncePerSession) {
    if (seen.has(file)) return output;
    seen.add(file);
  }
  const read = await readPlace(resolveInsideNow(context.workDir, file), MOST_SIDE_BYTES);
  const text = "inside" in read ? "" : wholeText(read.bytes).text;
  if (text.trim() === "") return output;
  const { label = wanted.filename } = wanted;
  return `${output.trimEnd()}\n\n--- ${label} (BOF) ---\n\n${text.trimEnd()}\n\n--- ${label} (EOF) ---`;
}

// ---- programs

const LIMITS = { wallMs: 600_000, outputBytes: 1024 * 1024 } as const;

interface Command {
  readonly argv: readonly [program: string, ...args: string[]];
  readonly stdin: string;
  readonly cwd: string;
  /** Variables in addition to those that the skill declares. */
  readonly env?: Readonly<Record<string, string>>;
}

function runProgram(call: DescriptorCall, command: Command): Promise<ForeignResult> {
  return started(call, call.host.runProgram, { ...command, mounts: [], network: true });
}

/** Runs a script of the skill. It can read the skill's folder and the working directory, but write to neither. */
function runScript(call: DescriptorCall, command: Command): Promise<ForeignResult> {
  const mounts = [readOnly(command.cwd), readOnly(call.directory)];
  return started(call, call.host.runForeign, { ...command, mounts, network: false });
}

async function started(
  call: DescriptorCall,
  run: LoaderHost["runProgram"],
  command: Command & { readonly mounts: readonly Mount[]; readonly network: boolean },
): Promise<ForeignResult> {
  const { signal } = call.context;
  signal.throwIfAborted();
  try {
    const env = { ...declaredEnv(call, call.context), ...command.env };
    const result = await run({ ...command, env, limits: LIMITS, signal });
    signal.throwIfAborted();
    return result;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new SkillflowError(callCodeOf(error), `exec failed: ${messageOf(error)}`, { acted: actedOf(error) });
  }
}

/** Returns stdout. Adds stderr if the descriptor has hint conditions or the exit code is an expected failure. */
function outputOf({ successExitCodes = [], hintConditions }: Execution, result: ForeignResult): string {
  const { ended, code, stdout, stderr, truncated } = result;
  const mark = truncated ? CUT : "";
  const isSound = ended === "exit" && code === 0;
  if (isSound && !hintConditions) return stdout + mark;
  const isSuccess = isSound || (ended === "exit" && code !== undefined && successExitCodes.includes(code));
  if (isSuccess) return (stdout && stderr && !stdout.endsWith("\n") ? `${stdout}\n` : stdout) + stderr + mark;
  throw failureOf(result, mark);
}

const CUT = `\n[… the output is longer than ${LIMITS.outputBytes} bytes; the rest is left out]`;

function failureOf({ ended, code, stdout, stderr }: ForeignResult, mark = ""): Error {
  const told = `${stdout}\n${stderr}${mark}`;
  if (ended === "exit") return new Error(`exit ${code ?? "by a signal"}: ${told}`);
  const what = `exec failed: the program was ended at its limit of ${ended}`;
  return new SkillflowError(codeOfEnding(ended), `${what}\n${told}`);
}
