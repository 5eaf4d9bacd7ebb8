import { lstatSync, realpathSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { documentsOf } from "../../app/host.ts";
import { mayBeOfEvent } from "../../app/reference.ts";
import type { Finding } from "../../core/base/diagnostic.ts";
import { plainText } from "../../core/base/inert.ts";
import { memo } from "../../core/base/values.ts";
import { readRegular } from "../../files/files.ts";
import type { Flags, Io, Paint } from "../io.ts";

export type Frame = (found: Finding) => readonly string[];

/** Maximum number of frames. A longer list is easier to read without them. */
const MOST_FRAMES = 20;
const MOST_BYTES = 5 * 1024 * 1024;

/**
 * Shows a finding's line with a caret below its place. Shows nothing if the documents may come from another commit
 * whose files are already gone.
 */
export function framesOf({ host, columns }: Pick<Io, "host" | "columns">, paint: Paint, flags: Flags): Frame {
  if (!host.documents && (flags.fromRef !== undefined || mayBeOfEvent(host.env))) return () => [];
  const folder = documentsOf(host);
  const readLines = memo((path: string) => linesOf(path, folder));
  let left = MOST_FRAMES;
  let last = "";
  return ({ file, line, column = 1, code }) => {
    if (file === undefined || line === undefined || left === 0) return [];
    // The line of a finding about a secret must not be shown.
    if (code === "SKILL_SECRET" || code.startsWith("secret.")) return [];
    const path = resolve(folder, file);
    const text = readLines(path)
      [line - 1]?.replaceAll("\t", " ")
      .replace(LOGIN, (login) => "*".repeat(login.length));
    const place = `${path}:${line}:${column}`;
    if (text === undefined || text.trim() === "" || place === last) return [];
    last = place;
    left -= 1;
    const margin = `    ${line} │ `;
    const { shown, caret } = windowOf(text, column - 1, Math.max(20, Math.min(columns, 110) - margin.length));
    const pointer = `${" ".repeat(margin.length - 2)}│ ${" ".repeat(caret)}`;
    return [`${paint("dim", margin)}${shown}`, `${paint("dim", pointer)}${paint("red", "^")}`];
  };
}

/** User name and password of a URL, which are shown as asterisks, so that the caret stays in its place. */
const LOGIN = /(?<=:\/\/)[^\s/?#"'<>]+(?=@)/g;

/** Reads the lines of a file. A link in the checkout must not reveal another file. */
function linesOf(path: string, folder: string): readonly string[] {
  try {
    const within = relative(folder, path);
    const isOutside = within.startsWith("..");
    const { size } = lstatSync(path);
    if (size > MOST_BYTES || (!isOutside && realpathSync(path) !== join(realpathSync(folder), within))) return [];
    return readRegular(path, MOST_BYTES).toString("utf8").split(/\r?\n/);
  } catch {
    return [];
  }
}

function windowOf(text: string, at: number, width: number): { readonly shown: string; readonly caret: number } {
  const start = at < width - 10 ? 0 : at - Math.floor(width / 2);
  const cut = text.slice(start, start + width);
  const [before, after] = [start > 0 ? "…" : "", start + width < text.length ? "…" : ""];
  const head = plainText(cut.slice(0, Math.max(0, at - start)));
  return { shown: `${before}${plainText(cut)}${after}`, caret: before.length + head.length };
}
