import { Command, CommanderError, Option } from "commander";
import { blameStray } from "../app/runs/stray.ts";
import { exitCodeOf, messageOf, SkillflowError } from "../core/base/errors.ts";
import { defined } from "../core/base/values.ts";
import type { Environment } from "../core/document/config.ts";
import { VERSION } from "../files/own-files.ts";
import type { Io } from "./io.ts";
import type { Ground } from "./reference.ts";
import type { CommandSpec } from "./table/command.ts";
import { COMMANDS } from "./table/commands.ts";
import { FROM_REF, SHARED_OPTIONS } from "./table/options.ts";
import { wrapLines } from "./terminal/wrap.ts";

/** What the program is given of its process. */
export interface Terminal extends Omit<Io, "protect" | "clean" | "outText" | "command" | "redraw" | "onStray"> {
  /** What it runs on, as it names itself. */
  readonly runtime: { readonly node: string; readonly platform: string };
  /** Tells what was thrown where nobody waits for it, as a library may do. */
  onFault(tell: (error: unknown) => void): void;
}

/** A command that has begun: its name, and the environment that it sees. */
interface Begun {
  readonly command: string;
  readonly env: Environment;
}

/** Runs a command line and gives its exit code. */
export async function main(argv: readonly string[], terminal: Terminal): Promise<number> {
  const guarded = guard(terminal, await inertFor(terminal));
  let code = 0;
  let begun: Begun = { command: "none", env: terminal.host.env };
  const course: Course = {
    begin(command) {
      begun = command;
    },
    finish(result) {
      code = result;
    },
  };
  const words = argv.map((word) => (word === "--help-all" ? "--help" : word));
  const program = buildProgram(guarded.io, course, argv.includes("--help-all"));
  const fault = new Promise<never>((_, reject) =>
    terminal.onFault((error) => {
      if (!guarded.takeStray(error)) reject(error);
    }),
  );
  try {
    refuseEnvFile(argv);
    await Promise.race([program.parseAsync(words, { from: "user" }), fault]);
    return code;
  } catch (thrown) {
    const error = terminal.writeOption ? (await import("./refused.ts")).withHints(thrown, terminal) : thrown;
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      // Commander has told it to people.
      await tellEarly(guarded, new SkillflowError("usage.invalid", error.message.replace(/^error: /, "")), argv);
      return 2;
    }
    if (begun.command === "none") await tellEarly(guarded, error, argv);
    else if (error instanceof SkillflowError) await tellUntold(guarded, error, argv);
    await tellFailure(guarded.io, error, argv);
    if (error instanceof SkillflowError) return exitCodeOf(error.code);
    await reportToSentry(guarded, error, { ...begun, ...terminal.runtime, argv });
    return exitCodeOf("internal.fault");
  }
}

/** Node itself obeys this name where it is started without `--` before the script's, variables of its own included (trust 6). */
function refuseEnvFile(argv: readonly string[]): void {
  const end = argv.indexOf("--");
  const flag = (end === -1 ? argv : argv.slice(0, end)).find((text) => /^--env-file(?:-if-exists)?(?:=|$)/.test(text));
  if (flag === undefined) return;
  const hint = "Node reads the file of that name before skillflow begins";
  throw new SkillflowError("usage.invalid", `${flag.split("=")[0]} is not taken: use --env-from PATH`, { hint });
}

interface Guarded {
  readonly io: Io;
  /** Text for people, halted or not. */
  say(text: string): Promise<void>;
  takeStray(error: unknown): boolean;
  /** Something was written to stdout, or was to be. */
  hasAnswered(): boolean;
  /** The command stops as if it were interrupted, and says nothing more. */
  halt(reason: string): void;
}

/** GitHub Actions reads what is printed for commands: text of models and tools must not become one (trust 13). */
async function inertFor({ host }: Terminal): Promise<Inert> {
  const { logText, terminalText } = await import("../core/base/inert.ts");
  return { forPeople: terminalText, forLog: host.env.GITHUB_ACTIONS === "true" ? logText : (text) => text };
}

/** What strangers wrote, made harmless for the terminal and then, when secrets are out, for a log. */
interface Inert {
  forPeople(text: string): string;
  forLog(text: string): string;
}

function guard(terminal: Terminal, { forPeople, forLog }: Inert): Guarded {
  let clean = (text: string) => text;
  const shown = (text: string) => forLog(clean(forPeople(text)));
  const errColumns = terminal.isTerminal ? terminal.columns : undefined;
  let isHalted = false;
  let hasAnswered = false;
  /** Line breaks of the text that lives; undefined where none does. */
  let alive: number | undefined;
  const wipe = (lines: string) => {
    const before = alive === undefined ? "" : alive > 0 ? `\r\u001b[${alive}A\u001b[J` : "\r\u001b[K";
    alive = lines === "" ? undefined : lines.split("\n").length - 1;
    return before;
  };
  const stops: ((reason: string) => void)[] = [];
  let take = blameStray;
  const io: Io = {
    ...terminal,
    host: { ...terminal.host, note: (line) => void io.err(`${line}\n`) },
    out: async (text) => {
      hasAnswered = true;
      return isHalted ? undefined : terminal.out(text).catch(refuseOutput);
    },
    outText: (text) => io.out(wrapLines(shown(text), terminal.outColumns)),
    err: async (text) => (isHalted ? undefined : terminal.err(wipe("") + wrapLines(shown(text), errColumns))),
    redraw: async (lines) => (isHalted ? undefined : terminal.err(wipe(lines) + shown(lines))),
    command: async (line) => (isHalted ? undefined : terminal.err(`${clean(line)}\n`)),
    ask: terminal.ask && ((question) => terminal.ask?.(shown(question)) ?? Promise.resolve("")),
    protect(redactor) {
      clean = redactor.text;
    },
    clean: (text) => clean(text),
    onInterrupt(stop) {
      stops.push(stop);
      terminal.onInterrupt(stop);
    },
    onStray(given) {
      take = given;
    },
  };
  return {
    io,
    takeStray: (error) => take(error),
    hasAnswered: () => hasAnswered,
    say: (text) => terminal.err(shown(text)),
    halt(reason) {
      isHalted = true;
      for (const stop of stops) stop(reason);
    },
  };
}

/** Help that nobody reads to its end. */
const leaveUnsaid = () => undefined;

function refuseOutput(error: unknown): never {
  throw new SkillflowError("output.failed", `the output could not be written: ${messageOf(error)}`, { cause: error });
}

interface Course {
  begin(command: Begun): void;
  finish(code: number): void;
}

function buildProgram(io: Io, course: Course, showsAll: boolean): Command {
  const program = new Command("skillflow")
    .description("Run workflows whose nodes are carried out by a model with skills.")
    .version(VERSION, "-V, --version", "Print the version")
    .helpOption("-h, --help", "Show this help")
    .helpCommand("help [command]", "Show the help of a command")
    .exitOverride()
    .showSuggestionAfterError()
    .showHelpAfterError("(--help shows what is possible)")
    .configureOutput({
      writeOut: (text) => void io.outText(text).catch(leaveUnsaid),
      writeErr: (text) => void io.err(text),
    })
    .configureHelp({ showGlobalOptions: false, helpWidth: Math.min(io.columns, 110) });
  for (const spec of COMMANDS) addCommand(program, spec, { io, course, showsAll });
  return program;
}

/** Options that the help shows without --help-all. A command with fewer shows all. */
const MOST_SHOWN = 20;

interface Surroundings {
  readonly io: Io;
  readonly course: Course;
  readonly showsAll: boolean;
}

function addCommand(parent: Command, spec: CommandSpec, surroundings: Surroundings): void {
  const { io, course } = surroundings;
  const command = parent.command(spec.usage).description(spec.summary);
  command.copyInheritedSettings(parent);
  if (spec.commands) {
    for (const inner of spec.commands) addCommand(command, inner, surroundings);
    return;
  }
  addOptions(command, spec, surroundings.showsAll);
  command.action(async (...given: unknown[]) => {
    const flags = command.opts<Record<string, unknown>>();
    const args = given
      .slice(0, -2)
      .flat()
      .filter((value) => value !== undefined) as string[];
    const { withEnvFrom } = await import("./env-from.ts");
    const seen = withEnvFrom(io, flags);
    // Whoever asked for a document is told early what keeps the command from beginning.
    const { documents, continued } = await groundOf(seen, { spec, flags, given: args[0] });
    course.begin({ command: nameOf(command), env: seen.host.env });
    try {
      const action = await spec.load?.();
      const host = documents ? { ...seen.host, documents } : seen.host;
      const at = { ...seen, host, ...defined("continued", continued) };
      course.finish((await action?.(at, args, flags)) ?? 0);
    } finally {
      documents?.remove();
    }
  });
}

function addOptions(command: Command, spec: CommandSpec, showsAll: boolean): void {
  const options = [...(spec.options ?? []), ...SHARED_OPTIONS];
  const hides = !showsAll && options.length > MOST_SHOWN;
  for (const [flags, description, extra] of options) {
    const option = new Option(flags, description).hideHelp(hides && extra?.isRare === true);
    if (extra?.group && options.length > MOST_SHOWN) option.helpGroup(extra.group);
    if (extra?.choices) option.choices([...extra.choices]);
    if (extra?.repeatable) option.argParser((value: string, all: string[] = []) => [...all, value]);
    command.addOption(option);
  }
  if (spec.details) command.addHelpText("after", `\n${spec.details}`);
  const rare = options.filter(([, , extra]) => extra?.isRare).length;
  if (hides && rare > 0) command.addHelpText("after", `\n${rare} more options: ${nameOfProgram(command)} --help-all`);
}

/** `skillflow runs show`, as it is typed. */
function nameOfProgram(command: Command): string {
  return command.parent ? `${nameOfProgram(command.parent)} ${command.name()}` : command.name();
}

interface Called {
  readonly spec: CommandSpec;
  readonly flags: Readonly<Record<string, unknown>>;
  readonly given: string | undefined;
}

/** Looked for where a commit may decide the documents of the command. */
async function groundOf(io: Io, { spec, flags, given }: Called): Promise<Partial<Ground>> {
  const { GITHUB_ACTIONS, GITLAB_CI } = io.host.env;
  const isCiJob = GITHUB_ACTIONS === "true" || GITLAB_CI === "true";
  const mayDecide = typeof flags.fromRef === "string" || isCiJob || spec.continues !== undefined;
  if (!spec.options?.includes(FROM_REF) || !mayDecide) return {};
  const { openGround } = await import("./reference.ts");
  return openGround(io, flags, spec.continues && { by: spec.continues, given: given ?? "" });
}

/** `runs show`: without the program's own name. */
function nameOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${nameOf(parent)} ${command.name()}` : command.name();
}

/** What is wrong before a command begins, as the document that `run` owes whoever asked for one. */
async function tellEarly(guarded: Guarded, error: unknown, argv: readonly string[]): Promise<void> {
  if (!STARTING.has(argv[0] ?? "")) return tellUntold(guarded, error, argv);
  const { tellRefusal } = await import("./refused.ts");
  await tellRefusal(guarded.io, error, argv.includes("--json"));
}

/** Whoever asked for a document gets one, whatever kept the command from its own (cli "run"). */
async function tellUntold({ io, hasAnswered }: Guarded, error: unknown, argv: readonly string[]): Promise<void> {
  if (!argv.includes("--json") || hasAnswered()) return;
  const { tellError } = await import("./refused.ts");
  // What went wrong first is what is told.
  await tellError(io, error).catch(leaveUnsaid);
}

/** The commands that begin a run. */
const STARTING: ReadonlySet<string> = new Set(["run", "resume", "replay", "apply"]);

async function tellFailure(io: Io, error: unknown, argv: readonly string[]): Promise<void> {
  const fromRef = argv.find((text) => text.startsWith("--from-ref"));
  const flags = { verbose: argv.includes("--verbose"), color: !argv.includes("--no-color"), fromRef };
  const { describeFailure } = await import("./terminal/terminal.ts");
  if (!hasReaderLeft(error)) await io.err(describeFailure(error, flags, io));
}

/** Where SENTRY_DSN names a project. A report that fails changes nothing. */
async function reportToSentry(
  { io: { clean }, halt, say }: Guarded,
  error: unknown,
  { env, argv, ...begun }: Begun & Terminal["runtime"] & { readonly argv: readonly string[] },
): Promise<void> {
  const dsn = env.SENTRY_DSN;
  if (!dsn || argv.includes("--offline")) return;
  halt("stopped by a fault of skillflow itself");
  const outcome = await import("./crash.ts")
    .then(({ reportFault }) => reportFault(dsn, { error, version: VERSION, ...begun }, { clean, env, argv }))
    .catch((failure) => `not reported: ${messageOf(failure)}`);
  if (argv.includes("--verbose")) await say(`the fault was ${outcome}\n`);
}

/** As in `skillflow runs list | head`: known to whoever left. */
function hasReaderLeft(error: unknown): boolean {
  return error instanceof SkillflowError && (error.cause as NodeJS.ErrnoException | undefined)?.code === "EPIPE";
}
