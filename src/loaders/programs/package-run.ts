import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Blobs } from "../../core/base/blobs.ts";
import { type Acted, type CallCode, callCodeOf, messageOf, SkillflowError } from "../../core/base/errors.ts";
import { isObject, type Json, type JsonObject, parseJson } from "../../core/base/values.ts";
import { isBlobKind } from "../../core/engine/tools/blob.ts";
import { changedNumber, numberAdvice } from "../../core/skill/exact-numbers.ts";
import {
  codeOfEnding,
  type ForeignCommand,
  type ForeignResult,
  readOnly,
  type SandboxLimits,
} from "../../core/skill/sandbox.ts";
import { readPlace, resolveInsideNow } from "../folder/contain.ts";
import type { PackageRuntime, RunnablePackage } from "../folder/format.ts";
import type { LoaderHost } from "../folder/host.ts";
import { openPlace, type PackagePlace, type PackagesAhead } from "./package-place.ts";
import { runnersFolder, SCRIPT_LIMITS, withRefusals } from "./script-handler.ts";

/**
 * Returns a skill's Python function as a package to import: `word-count` becomes `skills.word_count`. Mounted code gets
 * no secrets and no network.
 */
export function mountOf(
  name: string,
  { directory, contents }: Pick<RunnablePackage, "directory" | "contents">,
  { file, export: exported }: { readonly file: string; readonly export: string },
): readonly RunnablePackage[] {
  if (!file.endsWith(".py")) return [];
  const runtime = { language: "python", entrypoint: file.replace(/^(?:\.\/)+/, ""), export: exported } as const;
  return [{ name: name.replaceAll("-", "_"), directory, contents, runtime, secrets: [], network: false }];
}

/** Blob that the code can read at `/blobs/<id>`. */
export interface MountedBlob {
  readonly id: string;
  readonly file: string;
}

interface RunParts {
  readonly host: Pick<LoaderHost, "runForeign" | "nodePath" | "self">;
  readonly args: JsonObject;
  readonly mounts: readonly RunnablePackage[];
  readonly blobs: readonly MountedBlob[];
  readonly limits?: Pick<SandboxLimits, "wallMs">;
  readonly signal: AbortSignal;
}

export interface PackageRun extends RunParts {
  readonly package: RunnablePackage;
  /** Values by name. The code gets only those that the package declares. */
  readonly secrets: Readonly<Record<string, string | undefined>>;
  readonly ahead?: PackagesAhead;
}

export type RunOutcome =
  | CompletedRun
  | { readonly status: "failed"; readonly output: null; readonly logs: string; readonly error: RunError };

interface CompletedRun {
  readonly status: "completed";
  readonly output: Json;
  readonly logs: string;
  readonly made: readonly MadeBlob[];
}

export interface RunError {
  /** Name of the exception, or of the limit that stopped the code: `ValueError`, `TimeoutError`, … */
  readonly type: string;
  readonly message: string;
  readonly code: CallCode;
  /** Possible effects outside the workspace. If absent, `code` decides. */
  readonly acted?: Acted;
  /** Set if nothing ran because there is no sandbox or no program. */
  readonly notStarted?: true;
}

/** Blob that the code returned in addition to its result (`runtime.blobs.create`). */
interface MadeBlob {
  /** Id that the code uses for the blob. */
  readonly id: string;
  readonly kind: string;
  readonly content: Uint8Array;
}

/** Runs a package's action in a separate sandbox. Never rejects because of the code's behavior. */
export async function runPackage(run: PackageRun): Promise<RunOutcome> {
  const { package: target, secrets } = run;
  if (!target.runtime) return failed("NotExecutableError", `${target.name} is an instruction: there is nothing to run`);
  const missing = target.secrets.filter((name) => !secrets[name]);
  if (missing.length > 0) {
    const what = missing.length === 1 ? "a secret that is" : "secrets that are";
    return failed("MissingSecretError", `${target.name} needs ${what} not set: ${missing.join(", ")}`);
  }
  const env = Object.fromEntries(target.secrets.flatMap((name) => (secrets[name] ? [[name, secrets[name]]] : [])));
  const { language, export: entrypoint } = target.runtime;
  const packages = [target, ...run.mounts.filter(({ name }) => name !== target.name)];
  const request = { target: target.name, entrypoint };
  const program: Program = { packages, language, env, network: target.network, request };
  const isBare = packages.length === 1 && run.blobs.length === 0 && Object.keys(env).length === 0 && !program.network;
  return run.ahead && isBare ? runAhead(run, program, run.ahead) : runRequest(run, program);
}

/** Runs a function of Python source that was written for this run, without secrets or network. */
export function runCode(run: RunParts & { readonly code: string; readonly entrypoint: string }): Promise<RunOutcome> {
  const { code, entrypoint } = run;
  const request = { target: null, code, entrypoint };
  return runRequest(run, { packages: run.mounts, language: "python", env: {}, network: false, request });
}

/** Stores the blobs that the code returned, and replaces their ids in the output with the stored ids. */
export async function keepMade(
  { output, made }: CompletedRun,
  blobs: Pick<Blobs, "create">,
): Promise<{ readonly output: Json; readonly ids: readonly string[] }> {
  const ids: string[] = [];
  let text = JSON.stringify(output);
  for (const { id, kind, content } of made) {
    const { blob_id } = await blobs.create(content, kind);
    ids.push(blob_id);
    // Redacting a secret changes the content, and so the id.
    if (blob_id !== id) text = text.replaceAll(id, blob_id);
  }
  return { output: JSON.parse(text) as Json, ids };
}

interface Program {
  readonly packages: readonly RunnablePackage[];
  readonly language: PackageRuntime["language"];
  readonly env: Readonly<Record<string, string>>;
  readonly network: RunnablePackage["network"];
  readonly request: JsonObject;
}

/** Uses a sandbox that was started ahead, if any. After the run, starts one for the next run; two if runs follow. */
async function runAhead(run: PackageRun, program: Program, ahead: PackagesAhead): Promise<RunOutcome> {
  const { package: target, host } = run;
  const waiting = ahead.take(target);
  const first = waiting && (await runRequest(run, program, waiting));
  const outcome = first && !isUnstarted(first) ? first : await runRequest(run, program);
  const next = { ...run, args: {}, signal: new AbortController().signal };
  if (!isUnstarted(outcome)) {
    const commandIn = (place: PackagePlace) => commandOf(next, program, place);
    setImmediate(() => ahead.start({ target, host, commandIn }, waiting ? 2 : 1)).unref();
  }
  return outcome;
}

function isUnstarted(outcome: RunOutcome): boolean {
  return outcome.status === "failed" && outcome.error.notStarted === true;
}

async function runRequest(run: RunParts, program: Program, place = openPlace(run.host)): Promise<RunOutcome> {
  const outcome = await runIn(place, run, program);
  try {
    await place.close();
    return outcome;
  } catch (error) {
    return failed("RuntimeError", `its workspace could not be removed: ${messageOf(error)}`, { logs: outcome.logs });
  }
}

async function runIn(place: PackagePlace, run: RunParts, program: Program): Promise<RunOutcome> {
  try {
    const command = commandOf(run, program, place);
    const result = await place.run(command);
    const outcome = outcomeOf(result, { mark: place.mark, limits: command.limits, language: program.language });
    return outcome.status === "failed" ? outcome : await withMade(outcome, place.workspace);
  } catch (error) {
    if (!(error instanceof SkillflowError)) return failed("RuntimeError", messageOf(error));
    const message = [error.message, ...(error.hint ? [error.hint] : [])].join("; ");
    const code = callCodeOf(error);
    const isNothing = error.acted === "no";
    return failed("SandboxError", message, {
      code,
      ...(isNothing ? { acted: "no", notStarted: true } : { acted: "unknown" }),
    });
  }
}

const MADE = ".runtime-blobs";
const MOST_MADE = 64;
const MEGABYTE = 1024 * 1024;
const MOST_MADE_BYTES = 64 * MEGABYTE;

/** Reads the blobs that the code left in its workspace. The content is untrusted, although the program has ended. */
async function withMade(outcome: CompletedRun, workspace: string): Promise<RunOutcome> {
  const refuse = (message: string) => failed("BlobError", message, { logs: outcome.logs, code: "blob.refused" });
  if (!existsSync(join(workspace, MADE))) return outcome;
  const names = await readdir(join(workspace, MADE)).catch(() => []);
  const found = names.filter((name) => /^[0-9a-f]{32}$/.test(name)).sort();
  if (found.length > MOST_MADE) return refuse(`a run may return at most ${MOST_MADE} blobs, not ${found.length}`);
  const made: MadeBlob[] = [];
  let room = MOST_MADE_BYTES;
  for (const name of found) {
    const id = `blob:${name}`;
    const content = await readMade(workspace, name, room);
    if (!content) return refuse(`a run may return at most ${MOST_MADE_BYTES} bytes in files; ${id} is beyond that`);
    const kind = (await readMade(workspace, `${name}.kind`, MOST_KIND))?.toString("utf8") ?? "";
    if (!isBlobKind(kind)) return refuse(`the kind of ${id} must be a MIME type such as text/plain`);
    room -= content.length;
    made.push({ id, kind, content });
  }
  return { ...outcome, made };
}

const MOST_KIND = 255;

/** Returns undefined if the path is not a file or the file has more than `most` bytes. */
async function readMade(workspace: string, name: string, most: number): Promise<Buffer | undefined> {
  const read = await readPlace(resolveInsideNow(workspace, `${MADE}/${name}`), most);
  return "inside" in read || read.size > most ? undefined : read.bytes;
}

const LIMITS: SandboxLimits = { ...SCRIPT_LIMITS, wallMs: 60_000 };

function commandOf(run: RunParts, program: Program, place: PackagePlace): ForeignCommand {
  const { packages, language, env, network, request } = program;
  for (const { contents } of packages) contents.check();
  const modules = packages.filter((known) => known.runtime?.language === language).map(moduleOf);
  const odd = run.blobs.find(({ id }) => !/^[A-Za-z0-9:_-]+$/.test(id));
  if (odd) throw new Error(`${JSON.stringify(odd.id)} is not the handle of a blob`);
  return {
    // -B stops Python from writing bytecode to the package's folder.
    argv:
      language === "python"
        ? ["python3", "-u", "-B", "-X", "utf8", `${RUNNERS}/package.py`, place.mark]
        : [run.host.nodePath, `${RUNNERS}/package.mjs`, place.mark],
    stdin: JSON.stringify({ ...request, args: run.args, packages: Object.fromEntries(modules) }),
    env,
    mounts: [
      readOnly(runnersFolder(), RUNNERS),
      ...packages.map(({ name, directory, contents }) =>
        readOnly(contents.sourceOf(directory, run.host), `/skills/${name}`),
      ),
      ...run.blobs.map(({ id, file }) => readOnly(file, `/blobs/${id}`)),
      { source: place.workspace, target: "/workspace", writable: true, disposable: true },
    ],
    cwd: "/workspace",
    network,
    limits: { ...LIMITS, ...run.limits },
    signal: run.signal,
  };
}

/** Returns the path of a package's code inside the sandbox. Resolved at each run because the folder may change. */
function moduleOf({ name, directory, runtime }: RunnablePackage): [name: string, file: string] {
  const entrypoint = runtime?.entrypoint ?? "";
  const place = resolveInsideNow(directory, entrypoint);
  if (!place.inside) throw new Error(`the entrypoint ${entrypoint} of ${name} ${place.message}`);
  if (place.relative !== entrypoint) throw new Error(`the entrypoint ${entrypoint} of ${name} is a link`);
  return [name, `/skills/${name}/${entrypoint}`];
}

/** Path of the runners inside the sandbox. It hides their path on this machine. */
const RUNNERS = "/runtime";

interface Answering extends Pick<Program, "language"> {
  readonly mark: string;
  readonly limits: SandboxLimits;
}

function outcomeOf(result: ForeignResult, { mark, limits, language }: Answering): RunOutcome {
  // The mark counts only at the start of a line: text in the JSON result never contains a newline.
  const line = `\n${mark}`;
  const at = result.stdout.lastIndexOf(line);
  const printed = at === -1 ? result.stdout : result.stdout.slice(0, at);
  const logs = `${printed}${result.stderr}`;
  if (result.ended !== "exit") {
    const [type, message] = ENDINGS[result.ended](limits);
    return failed(type, message, { logs, code: codeOfEnding(result.ended) });
  }
  if (result.truncated) return failed("OutputLimitError", tooMuch(limits), { logs, code: "sandbox.limit" });
  const text = at === -1 ? "" : result.stdout.slice(at + line.length);
  const answer = parseJson(text);
  if (!isObject(answer)) {
    const how = result.code === undefined ? "a signal" : `exit code ${result.code}`;
    return failed("ProcessError", `the code ended with ${how} and without a result`, { logs, code: "output.invalid" });
  }
  const { error } = answer;
  if (isObject(error)) {
    const acted = error.acted === "no" ? ({ acted: "no" } as const) : {};
    return failed(String(error.type), withRefusals(String(error.message), result.stderr), { logs, ...acted });
  }
  // Python has whole numbers of any size.
  const number = language === "python" ? changedNumber(text) : undefined;
  if (number !== undefined) {
    const message = `the result has ${numberAdvice(number)}: return it as text`;
    return failed("ValueError", message, { logs, code: "output.invalid" });
  }
  return { status: "completed", output: (answer.output ?? null) as Json, logs, made: [] };
}

function tooMuch({ outputBytes }: SandboxLimits): string {
  return `the code printed more than ${outputBytes} bytes`;
}

type Ending = (limits: SandboxLimits) => readonly [type: string, message: string];
const ENDINGS: Readonly<Record<Exclude<ForeignResult["ended"], "exit">, Ending>> = {
  time: ({ wallMs }) => ["TimeoutError", `the code took longer than ${wallMs} ms`],
  memory: ({ memoryBytes }) => ["MemoryError", `the code needed more than ${memoryBytes} bytes of memory`],
  processes: ({ processes }) => ["ProcessLimitError", `the code started more than ${processes} processes`],
  disk: () => ["DiskLimitError", "the code wrote too much to disk"],
  output: (limits) => ["OutputLimitError", tooMuch(limits)],
  aborted: () => ["AbortError", "the run was canceled"],
};

function failed(
  type: string,
  message: string,
  {
    logs = "",
    code = "tool.failed",
    ...rest
  }: Partial<Pick<RunError, "code" | "acted" | "notStarted">> & { logs?: string } = {},
): RunOutcome {
  return { status: "failed", output: null, logs, error: { type, message, code, ...rest } };
}
