import {
  type CopySyncOptions,
  chmodSync,
  constants,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { attempt, inputError, SkillflowError } from "../../../core/base/errors.ts";
import { cutMiddle } from "../../../core/base/preview.ts";
import { checkedAs, type Json, type JsonObject } from "../../../core/base/values.ts";
import { namedIn } from "../../../core/engine/tools/proposal.ts";
import { DEFAULT_SECONDS, SETUP_MS } from "../../../core/engine/tools/workspace.ts";
import { matchesWords } from "../../../core/skill/glob.ts";
import { joinLines, readableLog, reducedLog } from "../../../core/skill/log-text.ts";
import { codeOfEnding, type ForeignResult, type Mount, readOnly } from "../../../core/skill/sandbox.ts";
import type { ToolContext } from "../../../core/skill/skill.ts";
import { isWithin } from "../../../files/files.ts";
import { temporaryName } from "../../../files/temporary-name.ts";
import type { LoaderHost } from "../../folder/host.ts";
import { type Copy, checkWay } from "./copy.ts";
import { matching, segmentsOf, shown } from "./paths.ts";

/** Runs a command of the operator's list in the sandbox, on files that are thrown away. */

interface CommandCall {
  readonly input: JsonObject;
  readonly copy: Copy;
  readonly host: Pick<LoaderHost, "runForeign" | "self">;
  readonly context: Pick<ToolContext, "config" | "signal" | "blobs">;
}

interface Input {
  readonly command: string;
  readonly files?: readonly string[];
  readonly timeout?: number;
  readonly at?: "base" | "change";
  readonly with?: readonly string[];
}

/** Output that a result shows, in bytes. More is in a blob. */
const MOST_SHOWN = 12_000;

export async function runCommand(call: CommandCall): Promise<Json> {
  const { copy, context } = call;
  const input = checkedAs<Input>(call.input);
  const { command, files = [], timeout = DEFAULT_SECONDS, at = "change", with: added = [] } = input;
  const appended = files.map((file) => segmentsOf(file).join("/"));
  const flag = appended.find((file) => file.startsWith("-"));
  if (flag !== undefined) throw inputError(`${shown(flag)} would be an option of the command, not a file`);
  const words = [...wordsOf(command), ...appended];
  checkAllowed(words, listOf(context.config.commands));
  const layer = await setUp(call);
  const began = performance.now();
  let missing: readonly string[] = [];
  const result = await inSnapshot(call, { words, wallMs: timeout * 1000, layer }, (folder) => {
    if (at === "change") return cpSync(copy.tree, folder, COPYING);
    fillBase(copy, folder, added);
    missing = words.filter((word) => namedIn(word).some((path) => isMissing(path, copy.tree, folder)));
  });
  const seconds = Math.round((performance.now() - began) / 100) / 10;
  const mounts = listOf(context.config.mounts).filter((name) => !existsSync(join(copy.checkout, name)));
  return describe(result, context, { seconds, missing, not_mounted: mounts });
}

/** Checks whether a word names a file of the copy that is not in the folder. */
function isMissing(word: string, tree: string, folder: string): boolean {
  const path = attempt(() => segmentsOf(word).join("/"));
  return typeof path === "string" && path !== "" && existsSync(join(tree, path)) && !existsSync(join(folder, path));
}

/** Splits a command at blanks. Only `'…'` and `"…"` quote. A quoted `*` becomes `star`. */
export function wordsOf(command: string, star = "*"): readonly string[] {
  if (/[\r\n\0]/.test(command)) throw inputError("a command has no line breaks");
  const words: string[] = [];
  for (const [word] of command.matchAll(/(?:'[^']*'|"[^"]*"|[^\s])+/g)) {
    const bare = word.replace(/'[^']*'|"[^"]*"/g, "");
    if (/['"]/.test(bare)) throw inputError(`the quote in ${word} is not closed`);
    words.push(word.replace(/'[^']*'|"[^"]*"/g, (quoted) => quoted.slice(1, -1).replaceAll("*", star)));
  }
  if (words.length === 0 || words[0] === "") throw inputError("the command is empty");
  if (/^[A-Za-z_]\w*=/.test(words[0] ?? "")) throw inputError("a command cannot set variables: NAME=value is refused");
  return words;
}

export function listOf(text: string | undefined): readonly string[] {
  return (text ?? "").split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()]));
}

function checkAllowed(words: readonly string[], list: readonly string[]): void {
  if (list.length === 0) throw inputError("no command may run here: the operator has not set WORKSPACE_COMMANDS");
  if (list.some((entry) => isAllowed(entry, words))) return;
  const allowed = list.join("; ").slice(0, 2000);
  throw inputError(`${words.join(" ").slice(0, 300)} is not an allowed command. Allowed: ${allowed}`);
}

/** Matches a command with an entry: `*` is one word, `**` any number, unless quoted. A program with `/` matches only itself. */
export function isAllowed(entry: string, words: readonly string[]): boolean {
  const [program = ""] = words;
  if (program.includes("/") && wordsOf(entry)[0] !== program) return false;
  // No word contains a null character, so a quoted star is not one that stands for words.
  return matchesWords(wordsOf(entry, "\0"), words, (part, word) => part === "*" || part.replaceAll("\0", "*") === word);
}

const MARK = "setup-done";

/** Runs `WORKSPACE_SETUP` once on the base. Returns the folder with the result, or undefined without set-up. */
async function setUp(call: CommandCall): Promise<string | undefined> {
  const { copy, context } = call;
  const { setup = "" } = context.config;
  if (setup.trim() === "") return undefined;
  const layer = join(copy.folder, "setup");
  if (existsSync(join(copy.folder, MARK))) return layer;
  rmSync(layer, { recursive: true, force: true });
  const started = { words: wordsOf(setup), wallMs: SETUP_MS, layer: undefined };
  const keep = (folder: string) => cpSync(folder, layer, COPYING);
  const { ended, code, stdout, stderr } = await inSnapshot(call, started, copy.writeBase, keep);
  if (ended !== "exit" || code !== 0) {
    rmSync(layer, { recursive: true, force: true });
    const output = cutMiddle(`${stdout}${stderr}`, MOST_SHOWN);
    throw new SkillflowError("tool.failed", `WORKSPACE_SETUP ended with ${ended === "exit" ? code : ended}: ${output}`);
  }
  mkdirSync(join(copy.folder, MARK));
  return layer;
}

interface Started {
  readonly words: readonly string[];
  readonly wallMs: number;
  /** Folder with what set-up has made. */
  readonly layer: string | undefined;
}

/** Runs a command in a folder that is removed afterwards. */
async function inSnapshot(
  { copy, host, context }: CommandCall,
  { words, wallMs, layer }: Started,
  fill: (folder: string) => void,
  keep: (folder: string) => void = () => undefined,
): Promise<ForeignResult> {
  const folder = mkdtempSync(join(tmpdir(), temporaryName("command", host.self)));
  try {
    fill(folder);
    const mounts = mountsOf(listOf(context.config.mounts), copy.checkout, folder);
    const isMounted = (path: string) => mounts.some(({ target }) => target === `/workspace/${path}`);
    if (layer !== undefined) addLayer(layer, folder, (path) => copy.isOfBase(path) || isMounted(path));
    const [program = "", ...args] = words;
    const result = await host.runForeign({
      argv: [program, ...args],
      stdin: "",
      env: { CI: "true" },
      mounts: [{ source: folder, target: "/workspace", writable: true, disposable: true }, ...mounts],
      cwd: "/workspace",
      network: false,
      limits: { wallMs, outputBytes: 4 * 1024 * 1024, processes: 256 },
      signal: context.signal,
    });
    keep(folder);
    return result;
  } finally {
    chmodSync(folder, 0o700);
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Copies files, folders and links. With a filter, an existing link in the place of a folder is an error. */
const COPYING: CopySyncOptions = {
  recursive: true,
  verbatimSymlinks: true,
  mode: constants.COPYFILE_FICLONE,
  filter: (source) => {
    const stats = lstatSync(source);
    return stats.isFile() || stats.isDirectory() || stats.isSymbolicLink();
  },
};

/** Adds what set-up has made below the files that are there. Files of the base are the copy's own. */
function addLayer(layer: string, folder: string, isSkipped: (path: string) => boolean): void {
  const filter = (source: string) => !isSkipped(relative(layer, source)) && lstatSync(source).isFIFO() === false;
  cpSync(layer, folder, { ...COPYING, force: false, filter });
}

/** Writes the base, and the copy's files that match. Neither has a link on the way to a file. */
function fillBase(copy: Copy, folder: string, globs: readonly string[]): void {
  copy.writeBase(folder);
  for (const path of matching(copy.paths(), globs)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(copy.tree, path), join(folder, path), COPYING);
  }
}

/** Returns mounts of the checkout's folders, by their paths from its root. Refuses one that leads out of the checkout. */
function mountsOf(names: readonly string[], checkout: string, folder: string): Mount[] {
  return names.flatMap((name): Mount[] => {
    const path = segmentsOf(name).join("/");
    const source = join(checkout, path);
    if (!existsSync(source)) return [];
    const real = realpathSync(source);
    if (!isWithin(realpathSync(checkout), real) || !statSync(real).isDirectory()) {
      throw inputError(`WORKSPACE_MOUNTS: ${name} is not a folder of the checkout`);
    }
    checkWay(folder, segmentsOf(name));
    mkdirSync(join(folder, path), { recursive: true });
    return [readOnly(real, `/workspace/${path}`)];
  });
}

async function describe(
  { ended, code, stdout, stderr }: ForeignResult,
  { blobs }: CommandCall["context"],
  { seconds, ...absent }: { seconds: number; missing: readonly string[]; not_mounted: readonly string[] },
): Promise<Json> {
  const between = stdout === "" || stdout.endsWith("\n") || stderr === "" ? "" : "\n";
  const output = `${stdout}${between}${stderr}`;
  if (ended !== "exit") {
    const what = ended === "time" ? `took longer than ${Math.floor(seconds)} s` : `was ended by a limit: ${ended}`;
    const message = `the command ${what}. Output:\n${cutMiddle(output, 6000)}`;
    throw new SkillflowError(codeOfEnding(ended), message, { acted: "no" });
  }
  const lists = Object.entries(absent).flatMap(([name, all]) => (all.length > 0 ? [[name, [...all]] as const] : []));
  const told = { exit_code: code ?? null, seconds, ...Object.fromEntries(lists) };
  if (output.length <= MOST_SHOWN) return { ...told, output };
  const { blob_id } = await blobs.create(Buffer.from(output, "utf8"), "text/plain");
  const lines = readableLog(output).split("\n");
  return { ...told, output: joinLines(lines, reducedLog(lines, MOST_SHOWN)), whole_output: { blob_id } };
}
