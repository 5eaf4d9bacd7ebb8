import type { styleText } from "node:util";
import type { Host } from "../app/host.ts";
import type { OptionWriter } from "../core/base/errors.ts";
import type { Redactor } from "../core/base/redact/redact.ts";
import type { StoredRun } from "../core/engine/ports.ts";

/** The process as the commands see it: everything printed passes one place. */
export interface Io {
  readonly host: Host;
  /** The run that the command goes on with, as it was when the command began; it was read to know which documents count. */
  readonly continued?: StoredRun;
  /** What was asked for: a result, a document, a stream. */
  out(text: string): Promise<void>;
  /** Text for people. */
  err(text: string): Promise<void>;
  /** Lines that live below the text for people, in place of those that lived before: on a terminal alone. */
  redraw(lines: string): Promise<void>;
  /** Whether the text for people goes to a terminal. */
  readonly isTerminal: boolean;
  readonly columns: number;
  /** Of the terminal that the output goes to; undefined where it goes elsewhere, which wraps nothing. */
  readonly outColumns: number | undefined;
  /** What was asked for, in words for people. */
  outText(text: string): Promise<void>;
  /** A workflow command for the CI system, which reads the text for people. */
  command(line: string): Promise<void>;
  /**
   * From now on secrets are kept out of all that is for people (trust 5). A document of `out` is made of what was redacted
   * where it was said: its own structure stays as it is.
   */
  protect(redactor: Redactor): void;
  /** A text without the secrets that are known by now. */
  clean(text: string): string;
  readInput(): Promise<string>;
  /** The input as it arrives. */
  input(): AsyncIterable<Uint8Array>;
  /** From now on nothing but `out` reaches the output: what code of skills prints there is text for people. */
  reserveOutput(): void;
  /** Asks the person at the terminal; an empty answer where they gave none. Undefined where there is nobody to ask. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  onInterrupt(stop: (reason: string) => void): void;
  /** How hints name options. Undefined: as flags. */
  readonly writeOption?: OptionWriter | undefined;
  /** Receives errors thrown where no caller waits, instead of the runs. One that it does not take ends the program. */
  onStray(take: (error: unknown) => boolean): void;
}

export type Format = Parameters<typeof styleText>[0];
/** Gives a text its colour, where there are colours. */
export type Paint = (format: Format, text: string) => string;

export type Flags = Readonly<Record<string, unknown>>;

/** Of a command that goes on with one. */
export function continuedRun({ continued }: Io): StoredRun {
  if (!continued) throw new Error("the run that this command goes on with was not read");
  return continued;
}

/** What a command does: its positional arguments and flags; gives the exit code. */
export type Action = (io: Io, args: readonly string[], flags: Flags) => Promise<number>;
