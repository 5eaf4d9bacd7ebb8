import { lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import type { Diagnostic } from "../../core/base/diagnostic.ts";
import { attempt } from "../../core/base/errors.ts";
import { isWithin } from "../../files/files.ts";
import { SKIPPED, type SkillFolder } from "./skill-folder.ts";

const MOST_FILES = 2000;
const MOST_BYTES = 256 * 1024;

/** Reports links that lead out of the folder and secrets, which no format allows. */
export function checkContents({ directory }: SkillFolder): Diagnostic[] {
  const found: Diagnostic[] = [];
  let seen = 0;
  const visit = (path: string) => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (SKIPPED.has(entry.name) || ++seen > MOST_FILES) continue;
      const file = join(path, entry.name);
      if (entry.isSymbolicLink()) found.push(...checkLink(directory, file));
      else if (entry.isDirectory()) visit(file);
      else if (entry.isFile()) found.push(...checkSecrets(file, entry.name));
    }
  };
  visit(directory);
  return found;
}

function checkLink(directory: string, file: string): Diagnostic[] {
  const real = attempt(() => realpathSync(file));
  if (real !== undefined && isWithin(directory, real)) return [];
  const message = real === undefined ? "the link leads nowhere" : "the link leads out of the skill's folder";
  return [{ severity: "error", code: "SKILL_LINK_OUTSIDE", path: [], message, file }];
}

/** Pattern that requires the start of the key: a header alone, or with dots, is a placeholder. */
const PRIVATE_KEY =
  /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----(?:\s|\\[nr]|["'+,])*(?:[A-Za-z-]{1,40}: [^\n]{0,200}\n\s{0,40}){0,9}[A-Za-z0-9+/]{40}/;

const SECRETS: readonly (readonly [pattern: RegExp, what: string])[] = [
  [/\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}/, "an API key"],
  [/\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{40,})/, "a GitHub token"],
  [/\bAKIA(?!\w*EXAMPLE)[0-9A-Z]{16}\b/, "an AWS key"],
  [/\bxox[abprs]-[A-Za-z0-9-]{20,}/, "a Slack token"],
  [PRIVATE_KEY, "a private key"],
];

function checkSecrets(file: string, name: string): Diagnostic[] {
  const problem = (message: string, line?: number): Diagnostic => {
    const hint = "remove it, revoke it, and read it from an environment variable";
    return { severity: "error", code: "SKILL_SECRET", path: [], message, hint, file, ...(line ? { line } : {}) };
  };
  if (/^\.env(?!\.(?:example|sample|template)$)(?:\.|$)/.test(name)) {
    return [problem("a file of environment variables must not be in a skill's folder")];
  }
  if (statSync(file).size > MOST_BYTES) return [];
  const text = readFileSync(file, "latin1");
  return SECRETS.flatMap(([pattern, what]) => {
    const at = pattern.exec(text)?.index;
    return at === undefined ? [] : [problem(`this looks like ${what}`, text.slice(0, at).split("\n").length)];
  });
}

/** Checks a file that a manifest names. Returns undefined if it can be used. */
export function faultOfFile({ directory }: SkillFolder, path: string): "outside" | "missing" | undefined {
  const isOdd = path === "" || path.includes("\0") || path.includes("\\") || posix.isAbsolute(path);
  if (isOdd || path.split("/").includes("..")) return "outside";
  const file = join(directory, path);
  if (!lstatSync(file, { throwIfNoEntry: false })) return "missing";
  const real = attempt(() => realpathSync(file));
  if (real === undefined || !isWithin(directory, real)) return "outside";
  return statSync(real).isFile() ? undefined : "missing";
}
