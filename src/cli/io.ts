import type { styleText } from "node:util";
import type { Host } from "../app/host.ts";
import type { OptionValues } from "../app/options.ts";
import type { Redactor } from "../core/base/redact/redact.ts";
import type { StoredRun } from "../core/engine/ports.ts";

/** Process as the commands see it. All output passes through it. */
export interface Io {
  readonly host: Host;
  /** Run that the command continues, as read at the start to find out which documents count. */
  readonly continued?: StoredRun;
  /** Prints requested output: a result, a document or a stream. */
  out(text: string): Promise<void>;
  /** Prints text for people. */
  err(text: string): Promise<void>;
  /** Replaces the live lines below the text for people. Used only on a terminal. */
  redraw(lines: string): Promise<void>;
  /** Whether the text for people goes to a terminal. */
  readonly isTerminal: boolean;
  readonly columns: number;
  /** Width of the output's terminal. Undefined if the output goes elsewhere and must not be wrapped. */
  readonly outColumns: number | undefined;
  /** Prints requested output as text for people. */
  outText(text: string): Promise<void>;
  /** Prints a workflow command for the CI system, on the same stream as the text for people. */
  command(line: string): Promise<void>;
  /**
   * Redacts secrets from all further text for people. Documents for `out` are redacted at their source instead, so that
   * their structure stays intact.
   */
  protect(redactor: Redactor): void;
  /** Removes the known secrets from a text. */
  clean(text: string): string;
  readInput(): Promise<string>;
  /** Streams the input as it arrives. */
  input(): AsyncIterable<Uint8Array>;
  /** Asks the user at the terminal. No answer gives an empty string. Undefined if there is no user to ask. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  onInterrupt(stop: (reason: string) => void): void;
  /** Sets the handler of errors that no caller awaits. If it returns false, the program ends. */
  onStray(take: (error: unknown) => boolean): void;
}

export type Format = Parameters<typeof styleText>[0];
export type Paint = (format: Format, text: string) => string;

/** Parsed options of a command: the shared ones, and its own. */
export type Flags = OptionValues & Readonly<Record<string, unknown>>;

export function continuedRun({ continued }: Io): StoredRun {
  if (!continued) throw new Error("the run to continue was not read");
  return continued;
}

/** Implementation of a command. Takes positional arguments and flags, and returns the exit code. */
export type Action = (io: Io, args: readonly string[], flags: Flags) => Promise<number>;

export function interruptSignal(io: Pick<Io, "onInterrupt">): AbortSignal {
  const interrupt = new AbortController();
  io.onInterrupt((reason) => interrupt.abort(reason));
  return interrupt.signal;
}

/** Asks a question that only `y` or `yes` answers with true. Without a user to ask, the answer is false. */
export async function confirms(io: Pick<Io, "ask">, question: string): Promise<boolean> {
  return /^y(?:es)?$/i.test((await io.ask?.(`${question} [y/N] `))?.trim() ?? "");
}
