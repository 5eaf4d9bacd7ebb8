import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { isSeq, parseDocument } from "yaml";
import type { Environment } from "../core/config.ts";
import { userConfigPath } from "./project-config.ts";

/**
 * Adds skills, as `id@digest`, to `skills.trust` of the user's config file, which keeps its comments and order; gives
 * its path. Written as a whole or not at all; made where there is none. Throws what keeps it from being written.
 */
export function rememberTrust(env: Environment, entries: readonly string[]): string {
  const path = userConfigPath(env);
  if (path === undefined) throw new Error("neither XDG_CONFIG_HOME nor HOME is set");
  mkdirSync(dirname(path), { recursive: true });
  // A link, as people have who keep their settings elsewhere, stays one.
  const file = existsSync(path) ? realpathSync(path) : path;
  replaceFile(file, withTrust(existsSync(file) ? readFileSync(file, "utf8") : "", entries));
  return path;
}

function withTrust(text: string, entries: readonly string[]): string {
  const document = parseDocument(text);
  const known: unknown = document.getIn(["skills", "trust"]);
  const listed = isSeq(known) ? (known.toJSON() as unknown[]) : [];
  if (!isSeq(known)) document.setIn(["skills", "trust"], document.createNode([]));
  for (const entry of entries) if (!listed.includes(entry)) document.addIn(["skills", "trust"], entry);
  return document.toString({ lineWidth: 0 });
}

function replaceFile(file: string, text: string): void {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0o600;
  const written = `${file}.new`;
  try {
    writeFileSync(written, text, { mode: mode & 0o777, flag: "wx" });
    renameSync(written, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") rmSync(written, { force: true });
    throw error;
  }
}
