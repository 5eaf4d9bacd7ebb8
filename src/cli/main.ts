import { Command, CommanderError, Option } from "commander";
import { exitCodeOf, messageOf, SkillflowError } from "../core/errors.ts";
import type { Redactor } from "../core/redact.ts";
import type { Host } from "../project.ts";
import { COMMANDS, type CommandSpec, SHARED_OPTIONS } from "./commands.ts";

/** What the program is given of its process. */
export type Terminal = Omit<Io, "protect">;

/** The process as the commands see it: everything printed passes one place. */
export interface Io {
  readonly host: Host;
  /** What was asked for: a result, a document, a stream. */
  out(text: string): Promise<void>;
  /** Text for people. */
  err(text: string): Promise<void>;
  /** Whether the text for people goes to a terminal. */
  readonly isTerminal: boolean;
  readonly columns: number;
  /** From now on secrets are kept out of both streams (trust 5). */
  protect(redactor: Redactor): void;
  readInput(): Promise<string>;
  onInterrupt(stop: (reason: string) => void): void;
}

export type Flags = Readonly<Record<string, unknown>>;

/** What a command does: its positional arguments and flags; gives the exit code. */
export type Action = (io: Io, args: readonly string[], flags: Flags) => Promise<number>;

/** Runs a command line and gives its exit code. */
export async function main(argv: readonly string[], terminal: Terminal): Promise<number> {
  const io = guard(terminal);
  let code = 0;
  const program = buildProgram(io, (result) => {
    code = result;
  });
  try {
    await program.parseAsync([...argv], { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    return await reportFailure(io, error, argv);
  }
}

function guard(terminal: Terminal): Io {
  let clean = (text: string) => text;
  return {
    ...terminal,
    out: (text) => terminal.out(clean(text)).catch(refuseOutput),
    err: (text) => terminal.err(clean(text)),
    protect(redactor) {
      clean = redactor.text;
    },
  };
}

/** Help that nobody reads to its end. */
const leaveUnsaid = () => undefined;

function refuseOutput(error: unknown): never {
  throw new SkillflowError("output.failed", `the output could not be written: ${messageOf(error)}`, { cause: error });
}

function buildProgram(io: Io, finish: (code: number) => void): Command {
  const program = new Command("skillflow")
    .description("Runs workflows whose nodes are worked on by a model with skills.")
    .version(VERSION, "-V, --version")
    .exitOverride()
    .showSuggestionAfterError()
    .showHelpAfterError("(--help shows what is possible)")
    .configureOutput({
      writeOut: (text) => void io.out(text).catch(leaveUnsaid),
      writeErr: (text) => void io.err(text),
    })
    .configureHelp({ showGlobalOptions: false, helpWidth: Math.min(io.columns, 110) });
  for (const spec of COMMANDS) addCommand(program, spec, io, finish);
  return program;
}

function addCommand(parent: Command, spec: CommandSpec, io: Io, finish: (code: number) => void): void {
  const command = parent.command(spec.usage).description(spec.summary);
  command.copyInheritedSettings(parent);
  if (spec.commands) {
    for (const inner of spec.commands) addCommand(command, inner, io, finish);
    return;
  }
  if (spec.details) command.addHelpText("after", `\n${spec.details}`);
  for (const [flags, description, extra] of [...(spec.options ?? []), ...SHARED_OPTIONS]) {
    const option = new Option(flags, description);
    if (extra?.choices) option.choices([...extra.choices]);
    if (extra?.repeatable) option.argParser((value: string, all: string[] = []) => [...all, value]);
    command.addOption(option);
  }
  command.action(async (...given: unknown[]) => {
    const flags = command.opts<Record<string, unknown>>();
    const args = given
      .slice(0, -2)
      .flat()
      .filter((value) => value !== undefined) as string[];
    const { withEnvFile } = await import("./terminal.ts");
    const action = await spec.load?.();
    finish((await action?.(withEnvFile(io, flags), args, flags)) ?? 0);
  });
}

async function reportFailure(io: Io, error: unknown, argv: readonly string[]): Promise<number> {
  const flags = { verbose: argv.includes("--verbose"), color: !argv.includes("--no-color") };
  const { describeFailure } = await import("./terminal.ts");
  if (!hasReaderLeft(error)) await io.err(describeFailure(error, flags, io));
  return error instanceof SkillflowError ? exitCodeOf(error.code) : exitCodeOf("internal.fault");
}

/** As in `skillflow runs list | head`: known to whoever left. */
function hasReaderLeft(error: unknown): boolean {
  return error instanceof SkillflowError && (error.cause as NodeJS.ErrnoException | undefined)?.code === "EPIPE";
}

declare const __VERSION__: string | undefined;
const VERSION = typeof __VERSION__ === "string" ? __VERSION__ : "0.0.0";
