import { Command, CommanderError, Option } from "commander";
import { shownError } from "../app/host.ts";
import { blameStray } from "../app/runs/stray.ts";
import { exitCodeOf, messageOf, SkillflowError, unwritten, usageError } from "../core/base/errors.ts";
import { defined } from "../core/base/values.ts";
import type { Environment } from "../core/document/config.ts";
import { VERSION } from "../files/own-files.ts";
import type { Flags, Io } from "./io.ts";
import type { Ground } from "./reference.ts";
import { COMMANDS } from "./table/commands.ts";
import { type CommandSpec, optionsOf, readerOf } from "./table/options.ts";
import { rowsOf, wrapLines } from "./terminal/wrap.ts";

export interface Terminal extends Omit<Io, "protect" | "clean" | "outText" | "command" | "redraw" | "onStray"> {
  readonly runtime: { readonly node: string; readonly platform: string };
  /** Registers a handler of errors that no caller awaits, such as those of a library. */
  onFault(tell: (error: unknown) => void): void;
  /** Registers a handler for when nothing is left to wait for although the command has not ended. */
  onIdle(tell: () => void): void;
}
export async function main(argv: readonly string[], terminal: Terminal): Promise<number> {
  const guarded = await guard(terminal);
  const { io } = guarded;
  const showsAll = argv.includes("--help-all");
  const course: Course = { io, showsAll, command: "none", env: terminal.host.env, code: 0, given: undefined };
  const words = argv.map((word) => (word === "--help-all" ? "--help" : word));
  const program = buildProgram(course, argv);
  const fault = new Promise<never>((_, reject) => {
    terminal.onFault((error) => {
      if (!guarded.takeStray(error)) reject(error);
    });
    const idle =
      "the command waits for something that cannot happen, such as a module whose top-level await never ends";
    terminal.onIdle(() => reject(new SkillflowError("internal.fault", idle)));
  });
  try {
    refuseEnvFile(argv);
    await Promise.race([program.parseAsync(words, { from: "user" }), fault]);
    return course.code;
  } catch (thrown) {
    const error = shownError(thrown, terminal.host);
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      // Commander has already printed the message.
      await tellEarly(guarded, usageError(error.message.replace(/^error: /, "")), argv);
      return 2;
    }
    if (course.command === "none") await tellEarly(guarded, error, argv, course.given);
    else if (error instanceof SkillflowError) await tellUntold(guarded, error, argv);
    await tellFailure(io, error, argv);
    if (error instanceof SkillflowError) return exitCodeOf(error.code);
    await reportToSentry(guarded, error, { ...terminal.runtime, command: course.command, env: course.env, argv });
    return exitCodeOf("internal.fault");
  }
}

/** Rejects `--env-file`. Without an earlier `--`, Node itself loads that file, including Node's own variables. */
function refuseEnvFile(argv: readonly string[]): void {
  const end = argv.indexOf("--");
  const flag = (end === -1 ? argv : argv.slice(0, end)).find((text) => /^--env-file(?:-if-exists)?(?:=|$)/.test(text));
  if (flag === undefined) return;
  const hint = "use --env-from PATH: Node itself reads --env-file before skillflow starts";
  throw usageError(`${flag.split("=")[0]} is not supported`, hint);
}

type Guarded = Awaited<ReturnType<typeof guard>>;

/**
 * Filters all printed text: first for the terminal and then, after redaction, for a log. In CI systems that read
 * commands from a job's log, untrusted text must not become one.
 */
async function guard(terminal: Terminal) {
  const { logText, terminalText } = await import("../core/base/inert.ts");
  const { GITHUB_ACTIONS, TF_BUILD, TEAMCITY_VERSION } = terminal.host.env;
  const forLog = GITHUB_ACTIONS === "true" || TF_BUILD || TEAMCITY_VERSION ? logText : (text: string) => text;
  let clean = (text: string) => text;
  const shown = (text: string) => forLog(clean(terminalText(text)));
  let isHalted = false;
  const unlessHalted = async (write: () => Promise<void>) => (isHalted ? undefined : write());
  let hasAnswered = false;
  let alive = "";
  /** Erases the live text. A terminal that became narrower wraps its lines. */
  const wipe = (lines: string) => {
    const up = alive === "" ? 0 : rowsOf(alive, terminal.columns) - 1;
    const before = alive === "" ? "" : up > 0 ? `\r\u001b[${up}A\u001b[J` : "\r\u001b[K";
    alive = lines;
    return before;
  };
  const stops: ((reason: string) => void)[] = [];
  let take = blameStray;
  const io: Io = {
    ...terminal,
    get columns() {
      return terminal.columns;
    },
    get outColumns() {
      return terminal.outColumns;
    },
    host: { ...terminal.host, note: (line) => void io.err(`${line}\n`), onInterrupt: (stop) => io.onInterrupt(stop) },
    out: async (text) => {
      hasAnswered = true;
      await unlessHalted(() => terminal.out(text)).catch((error) => {
        throw unwritten("cannot write the output", error);
      });
    },
    outText: (text) => io.out(wrapLines(shown(text), terminal.outColumns)),
    err: (text) =>
      unlessHalted(() =>
        terminal.err(wipe("") + wrapLines(shown(text), terminal.isTerminal ? terminal.columns : undefined)),
      ),
    redraw: (lines) =>
      unlessHalted(() => {
        const text = shown(lines);
        return terminal.err(wipe(text) + text);
      }),
    command: (line) => unlessHalted(() => terminal.err(`${clean(line)}\n`)),
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
    takeStray: (error: unknown) => take(error),
    /** Whether the command wrote to stdout, or tried to. */
    hasAnswered: () => hasAnswered,
    /** Prints text for people, even after `halt`. */
    say: (text: string) => terminal.err(shown(text)),
    /** Interrupts the command and suppresses its further output. */
    halt(reason: string) {
      isHalted = true;
      for (const stop of stops) stop(reason);
    },
  };
}

/** Ignores a failed write, such as help whose reader has left. */
const leaveUnsaid = () => undefined;

interface Course {
  readonly io: Io;
  readonly showsAll: boolean;
  /** Command that has begun, and its environment. */
  command: string;
  env: Environment;
  code: number;
  /** First argument of the command. */
  given: string | undefined;
}

/** Builds the commands: only the one that the first word names, if it names one. */
function buildProgram(course: Course, argv: readonly string[]): Command {
  const { io } = course;
  const program = new Command("skillflow")
    .description("Run workflows in which a model with skills executes the nodes.")
    .version(VERSION, "-V, --version", "Print the version")
    .helpOption("-h, --help", "Show this help")
    .helpCommand("help [command]", "Show the help of a command")
    .exitOverride()
    .showSuggestionAfterError()
    .showHelpAfterError("(use --help to list the options)")
    .configureOutput({
      writeOut: (text) => void io.outText(text).catch(leaveUnsaid),
      writeErr: (text) => void io.err(text),
    })
    .configureHelp({ showGlobalOptions: false, helpWidth: Math.min(io.columns, 110) });
  const named = COMMANDS.filter(({ usage }) => usage.split(" ")[0] === argv[0]);
  for (const spec of named.length > 0 ? named : COMMANDS) addCommand(program, spec, course);
  return program;
}

/** Number of options above which the help hides rare ones, unless --help-all is given. */
const MOST_SHOWN = 20;

function addCommand(parent: Command, spec: CommandSpec, course: Course): void {
  const command = parent.command(spec.usage).description(spec.summary);
  command.copyInheritedSettings(parent);
  if (spec.commands) {
    for (const inner of spec.commands) addCommand(command, inner, course);
    return;
  }
  addOptions(command, spec, course.showsAll);
  command.action(async (...given: unknown[]) => {
    const flags = command.opts<Flags>();
    const args = given
      .slice(0, -2)
      .flat()
      .filter((value) => value !== undefined) as string[];
    course.given = args[0];
    const { withEnvFrom } = await import("./env-from.ts");
    const seen = withEnvFrom(course.io, flags);
    // An error before `begin` is also reported as a document.
    const { documents, continued } = await groundOf(seen, flags, spec, args[0]);
    Object.assign(course, { command: nameOf(command), env: seen.host.env });
    try {
      const action = await spec.load?.();
      const host = documents ? { ...seen.host, documents } : seen.host;
      const at = { ...seen, host, ...defined("continued", continued) };
      course.code = (await action?.(at, args, flags)) ?? 0;
    } finally {
      documents?.remove();
    }
  });
}

function addOptions(command: Command, spec: CommandSpec, showsAll: boolean): void {
  const options = optionsOf(spec);
  const hides = !showsAll && options.length > MOST_SHOWN;
  for (const row of options) {
    const [flags, description, extra] = row;
    const option = new Option(flags, description).hideHelp(hides && extra?.isRare === true);
    if (extra?.group && options.length > MOST_SHOWN) option.helpGroup(extra.group);
    if (extra?.choices) option.choices([...extra.choices]);
    if (extra?.form || extra?.repeatable) option.argParser(readerOf(row));
    command.addOption(option);
  }
  if (spec.details) command.addHelpText("after", `\n${spec.details}`);
  const rare = options.filter(([, , extra]) => extra?.isRare).length;
  if (hides && rare > 0)
    command.addHelpText("after", `\n${rare} more options: skillflow ${nameOf(command)} --help-all`);
}

/** Opens the commit that decides the command's documents, if there can be one. */
async function groundOf(io: Io, flags: Flags, spec: CommandSpec, given = ""): Promise<Partial<Ground>> {
  const { GITHUB_ACTIONS, GITLAB_CI } = io.host.env;
  const isCiJob = GITHUB_ACTIONS === "true" || GITLAB_CI === "true";
  const mayDecide = typeof flags.fromRef === "string" || isCiJob || spec.continues !== undefined;
  if (!spec.options?.includes("from-ref") || !mayDecide) return {};
  const { openGround } = await import("./reference.ts");
  return openGround(io, flags, spec.continues && { by: spec.continues, given });
}

/** Returns the name of a command without the program, such as `runs show`. */
function nameOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${nameOf(parent)} ${command.name()}` : command.name();
}

/** Reports an error that occurred before the command began. For `run` and similar, the document is a refusal. */
async function tellEarly(guarded: Guarded, error: unknown, argv: readonly string[], of?: string): Promise<void> {
  const [name] = argv;
  const answer = name === "ask" || name === "recheck" ? ({ name, of } as const) : undefined;
  if (!answer && !STARTING.has(name ?? "")) return tellUntold(guarded, error, argv);
  const { tellRefusal } = await import("./refused.ts");
  await tellRefusal(guarded.io, error, { asJson: argv.includes("--json"), answer });
}

/** Prints an error document for `--json`, unless the command has already printed something. */
async function tellUntold({ io, hasAnswered }: Guarded, error: unknown, argv: readonly string[]): Promise<void> {
  if (!argv.includes("--json") || hasAnswered()) return;
  const { tellError } = await import("./refused.ts");
  // The first error is the one to report.
  await tellError(io, error).catch(leaveUnsaid);
}

const STARTING: ReadonlySet<string> = new Set(["run", "resume", "signal", "replay", "apply"]);

async function tellFailure(io: Io, error: unknown, argv: readonly string[]): Promise<void> {
  const fromRef = argv.find((text) => text.startsWith("--from-ref"));
  const flags = { verbose: argv.includes("--verbose"), color: !argv.includes("--no-color"), fromRef };
  const { describeFailure } = await import("./terminal/terminal.ts");
  // The reader has left, as in `skillflow runs list | head`.
  const isLeft =
    error instanceof SkillflowError && (error.cause as NodeJS.ErrnoException | undefined)?.code === "EPIPE";
  if (!isLeft) await io.err(describeFailure(error, flags, io));
}

/** Reports a fault to the project in SENTRY_DSN. A failed report changes nothing. */
async function reportToSentry(
  { io: { clean }, halt, say }: Guarded,
  error: unknown,
  { env, argv, ...begun }: Pick<Course, "command" | "env"> & Terminal["runtime"] & { readonly argv: readonly string[] },
): Promise<void> {
  const dsn = env.SENTRY_DSN;
  if (!dsn || argv.includes("--offline")) return;
  halt("stopped by an internal error in skillflow");
  const outcome = await import("./crash.ts")
    .then(({ reportFault }) => reportFault(dsn, { error, version: VERSION, ...begun }, { clean, env, argv }))
    .catch((failure) => `not reported: ${messageOf(failure)}`);
  if (argv.includes("--verbose")) await say(`the error was ${outcome}\n`);
}
