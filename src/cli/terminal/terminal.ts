import { styleText } from "node:util";
import type { Finding } from "../../core/base/diagnostic.ts";
import { messageOf, SkillflowError } from "../../core/base/errors.ts";
import { logJson, plainLine, plainText } from "../../core/base/inert.ts";
import { asFlag, renderHint } from "../../core/base/options.ts";
import type { JsonObject } from "../../core/base/values.ts";
import { isObject } from "../../core/base/values.ts";
import { describeReferences } from "../../core/engine/plan/reference.ts";
import type { Flags, Format, Io, Paint } from "../io.ts";
import { framesOf } from "./frame.ts";
import { wrapLines } from "./wrap.ts";

export { formatDuration as duration, plural as amount } from "../../core/base/preview.ts";
export type { Format, Paint };

/** Returns a function that colors text on a terminal, unless the user disabled colors. */
export function painter(io: Pick<Io, "isTerminal" | "host">, flags: Flags): Paint {
  const { NO_COLOR, FORCE_COLOR, TERM } = io.host.env;
  const wanted = FORCE_COLOR ? FORCE_COLOR !== "0" : io.isTerminal && TERM !== "dumb";
  const colours = wanted && !NO_COLOR && flags.color !== false;
  return (format, text) => (colours ? styleText(format, text, { validateStream: false }) : text);
}
export function isLive({ isTerminal, host }: Pick<Io, "isTerminal" | "host">): boolean {
  return isTerminal && host.env.TERM !== "dumb";
}

export function jsonText(value: unknown): string {
  return `${logJson(JSON.stringify(value, undefined, 2))}\n`;
}

/** Prints a document and returns the exit code of success. */
export async function printJson(io: Pick<Io, "out">, value: unknown): Promise<0> {
  await io.out(jsonText(value));
  return 0;
}

export function jsonLine(value: unknown): string {
  return `${logJson(JSON.stringify(value))}\n`;
}

/** Returns the command that starts this program: its name, or npx in a checkout. */
export function programName({ host }: Pick<Io, "host">): string {
  return host.env.npm_command === undefined ? "skillflow" : "npx --no-install skillflow";
}

/** Returns how to print a longer description. Lines longer than the width are hard to read. */
export function screenOf(io: Pick<Io, "host" | "columns">, paint: Paint) {
  return { paint, width: Math.min(io.columns, 110), program: programName(io) };
}

export function oneLine(text: string, most: number): string {
  const line = plainLine(text);
  return line.length > most ? `${line.slice(0, Math.max(0, most - 1))}…` : line;
}

export function padTable(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    return cells.join("  ").trimEnd();
  });
}
export function colourDiff(line: string, paint: Paint): string {
  if (line.startsWith("+")) return paint("green", line);
  return line.startsWith("-") ? paint("red", line) : paint("dim", line);
}

const COLOURS = { error: "red", warning: "yellow", note: "blue" } as const;

export function describeDiagnostic(found: Finding, paint: Paint, frame: readonly string[] = []): string {
  const place = [found.file, found.line, found.column].filter((part) => part !== undefined).join(":");
  const word = paint(COLOURS[found.severity], found.severity);
  const hint = found.hint ? `\n    ${paint("dim", plainLine(renderHint(found.hint, asFlag)))}` : "";
  const message = `${place ? `${paint("bold", plainLine(place))} ` : ""}${word} ${paint("dim", found.code)} ${plainLine(found.message)}`;
  return [message + hint, ...frame].join("\n");
}

/** Describes an error with its findings and a hint. --verbose adds the stack. */
export function describeFailure(error: unknown, flags: Flags, io: Io): string {
  const paint = painter(io, flags);
  const known = error instanceof SkillflowError ? error : undefined;
  const frame = framesOf(io, paint, flags);
  const [only, ...others] = known?.diagnostics ?? [];
  // The message of an error about a file of settings includes its only finding, whose line is then enough.
  const isTold = only !== undefined && others.length === 0 && known?.message.endsWith(only.message) === true;
  const lines = isTold ? frame(only).map((line) => `${line}\n`) : [];
  const findings = (isTold ? [] : (known?.diagnostics ?? []))
    .map((found) => `${describeDiagnostic(found, paint, frame(found))}\n`)
    .join("");
  const message = known ? known.message : `internal error in skillflow: ${messageOf(error)}`;
  const hint = known ? known.hint : "run it again with --verbose, and report the output";
  const stack = flags.verbose === true && error instanceof Error ? `${paint("dim", error.stack ?? "")}\n` : "";
  return `${findings}${paint(["red", "bold"], "error:")} ${plainLine(message)}\n${lines.join("")}${hint ? `  ${paint("dim", plainLine(hint))}\n` : ""}${stack}`;
}

/** Formats data as indented text: colored keys, wrapped text, numbered lists. */
export function describeData(data: JsonObject, paint: Paint, width: number): string[] {
  return describeMembers(data, { paint, width, indent: 2 });
}

interface Column {
  readonly paint: Paint;
  readonly width: number;
  readonly indent: number;
}

function inward(column: Column, by: number): Column {
  return { ...column, indent: column.indent + by };
}

function describeMembers(data: JsonObject, column: Column): string[] {
  return Object.entries(data).flatMap(([key, value]) => {
    return describeMember(`${column.paint("cyan", plainLine(key))}:`, value, column);
  });
}

function describeMember(label: string, value: unknown, column: Column): string[] {
  const { width, indent } = column;
  const space = " ".repeat(indent);
  if (Array.isArray(value) && !value.every(isShort)) {
    const items = value.flatMap((item, index) => describeItem(`${index + 1}.`, item, inward(column, 2)));
    return [`${space}${label}`, ...items];
  }
  if (isObject(value) && Object.keys(value).length > 0) {
    return [`${space}${label}`, ...describeMembers(value as JsonObject, inward(column, 2))];
  }
  return wrap(`${label} ${Array.isArray(value) ? value.map(plain).join(", ") || "none" : plain(value)}`, width, indent);
}

function isShort(value: unknown): boolean {
  return typeof value === "object" ? value === null : String(value).length < 40;
}

/** Describes a list item. A pair of scalars takes one line, and a larger object starts with its first member. */
function describeItem(label: string, value: unknown, column: Column): string[] {
  if (!isObject(value)) return describeMember(label, value, column);
  const { paint, width, indent } = column;
  const [first, ...rest] = Object.entries(value);
  if (!first) return [];
  const [, head] = first;
  if (typeof head === "object" && head !== null) {
    return [`${" ".repeat(indent)}${label}`, ...describeMembers(value as JsonObject, inward(column, 3))];
  }
  const [second] = rest;
  if (rest.length === 1 && second && (typeof second[1] !== "object" || second[1] === null)) {
    return wrap(`${label} ${paint("bold", plain(head))}: ${plain(second[1])}`, width, indent);
  }
  const body = Object.fromEntries(rest) as JsonObject;
  return [...wrap(`${label} ${plain(head)}`, width, indent), ...describeMembers(body, inward(column, 3))];
}

/** Maximum length of a value on the screen. The result holds the whole value. */
const MOST_TEXT = 4000;

function plain(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const more = text.length - MOST_TEXT;
  return describeReferences(plainText(more > 0 ? `${text.slice(0, MOST_TEXT)} … (${more} characters more)` : text));
}

/** Wraps text between words. Continuation lines are indented two more spaces. */
function wrap(text: string, width: number, indent: number): string[] {
  const margin = " ".repeat(indent);
  return wrapLines(margin + text.replaceAll("\n", `\n${margin}  `), width).split("\n");
}
