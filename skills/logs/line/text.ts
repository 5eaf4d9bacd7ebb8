import { fitting } from "skillflow/internal";
export const LINE_SHOWN = 2048;

/** Returns a line for display without colors and control characters. Cuts it with a mark that gives its size. */
export function shown(text: string, length: number): string {
  const clean = text
    .slice(0, LINE_SHOWN * 2)
    .replace(COLOURS, "")
    .replace(CONTROLS, "\ufffd");
  if (clean.length <= LINE_SHOWN && text.length <= LINE_SHOWN * 2) return clean;
  return `${clean.slice(0, LINE_SHOWN)}… [cut; the line has ${length} bytes]`;
}

/** Cuts a text with a mark, by which redaction recognizes the remains of a secret. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** Returns the last items whose JSON fits into a number of bytes, but at least one. */
export function fittingLast<T>(items: readonly T[], bytes?: number): readonly T[] {
  return [...fitting([...items].reverse(), bytes)].reverse();
}

/** Returns notes about the files as part of a result. */
export function noted(notes: readonly string[]): { readonly notes?: readonly string[] } {
  return notes.length > 0 ? { notes: notes.slice(0, NOTES_SHOWN) } : {};
}

const NOTES_SHOWN = 20;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what these look for
const COLOURS = /\u001b\[[0-9;]*[A-Za-z]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what these look for
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]+/g;
