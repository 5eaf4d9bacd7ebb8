import { type Dirent, lstatSync, readdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { attempt } from "../../core/base/errors.ts";
import type { Secret } from "../../core/base/redact/secret-forms.ts";
import { percentDecoded } from "../../core/base/values.ts";
import { readSmall } from "../../files/files.ts";

export function credentialsIn(folder: string, home: string | undefined): readonly Secret[] {
  return [...gitCredentials(folder, home), ...npmCredentials(folder)];
}

/** Config files of git that are read: of the repository, of its submodules, and those that they include. */
const MOST_CONFIGS = 256;
/** Folders in which configs of submodules are looked for. */
const MOST_FOLDERS = 2000;

function gitCredentials(folder: string, home: string | undefined): Secret[] {
  const found: Secret[] = [];
  const paths = new Set(gitConfigs(folder));
  let read = 0;
  for (const path of paths) {
    if (read++ === MOST_CONFIGS) break;
    const written = readSmall(path) ?? "";
    // A backslash at the end of a line continues it, but not that of a comment.
    const text = `${written}\n${written.replace(/\\\r?\n/g, "")}`;
    found.push(...userParts(text).map((value) => ({ name: "git-config", value })));
    for (const header of valuesOf(text, /^(?:[ \t]*\[[^\]\n]*\])?[ \t]*extraheader[ \t]*=[ \t]*(\S.*)/gim)) {
      const credential = header.replace(/^[\w-]+:\s*(?:(?:basic|bearer|token)\s+)?/i, "");
      found.push(...[header, credential, ...basicParts(credential)].map((value) => ({ name: "git-config", value })));
    }
    for (const given of valuesOf(text, /^(?:[ \t]*\[[^\]\n]*\])?[ \t]*path[ \t]*=[ \t]*(\S.*)/gim)) {
      paths.add(given.startsWith("~/") && home ? join(home, given.slice(2)) : resolve(dirname(path), given));
    }
  }
  return found;
}

/** Lists Git config files, those of submodules last. In a linked worktree, `.git` is a file with the repository's path. */
function gitConfigs(folder: string): string[] {
  const own = join(folder, ".git");
  const pointer = /^gitdir:[ \t]*(\S.*)/m.exec(readSmall(own) ?? "")?.[1]?.trimEnd();
  const directory = pointer === undefined ? own : resolve(folder, pointer);
  const common = readSmall(join(directory, "commondir"))?.trim();
  const repositories = [directory, ...(common ? [resolve(directory, common)] : [])];
  const files = [...repositories.map((at) => join(at, "config")), join(directory, "config.worktree")];
  return [...files, ...repositories.flatMap(submoduleConfigs)];
}

/** Lists the config files of a repository's submodules, which can have submodules of their own. */
function submoduleConfigs(repository: string): string[] {
  const found: string[] = [];
  const open = [join(repository, "modules")];
  for (let looked = 0; open.length > 0 && looked < MOST_FOLDERS; looked++) {
    const at = open.pop() ?? "";
    const config = join(at, "config");
    const isRepository = attempt(() => statSync(config))?.isFile() === true;
    if (isRepository) found.push(config);
    open.push(...foldersIn(isRepository ? join(at, "modules") : at));
  }
  return found;
}

function foldersIn(folder: string): string[] {
  if (attempt(() => lstatSync(folder))?.isDirectory() !== true) return [];
  const entries = attempt((): Dirent[] => readdirSync(folder, { withFileTypes: true })) ?? [];
  const folders = entries.filter((entry) => entry.isDirectory()).slice(0, MOST_FOLDERS);
  return folders.map(({ name }) => join(folder, name));
}

function valuesOf(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, value = ""]) => plainValue(value));
}

/** Removes the quotation marks of a value, and the comment after it. */
function plainValue(text: string): string {
  const [, quoted, bare = ""] = /^"((?:[^"\\]|\\.)*)"|^([^;#]*)/.exec(text) ?? [];
  return quoted?.replace(/\\(.)/g, "$1") ?? bare.trimEnd();
}

/** Returns `user:password` and the password that a value holds as base64; nothing if it is no such text. */
function basicParts(value: string): string[] {
  if (!/^[\w+/-]{8,}={0,2}$/.test(value)) return [];
  const decoded = Buffer.from(value, "base64").toString("latin1");
  return /^[\x20-\x7e]+$/.test(decoded) ? [decoded, decoded.slice(decoded.indexOf(":") + 1)] : [];
}

/** Returns `user:password` and the password of each URL in a text. */
export function userParts(text: string): string[] {
  return [...text.matchAll(/[a-z\d+.-]:\/\/([^\s/?#@"'<>]+)@/gi)].flatMap(([, user = ""]) => {
    const password = user.slice(user.indexOf(":") + 1);
    return [...new Set([user, password].flatMap((part) => [part, percentDecoded(part)]))];
  });
}

function npmCredentials(folder: string): Secret[] {
  const text = readSmall(join(folder, ".npmrc")) ?? "";
  const settings = text.matchAll(/^[^#;\r\n\u2028\u2029]*?(_authToken|_auth|_password)[ \t]*=[ \t]*(\S.*)/gm);
  return [...settings].flatMap(([, name = "", written = ""]) => {
    const value = plainValue(written);
    const decoded = name === "_authToken" ? [] : basicParts(value);
    return [value, ...decoded].map((each) => ({ name: `npmrc${name}`, value: each }));
  });
}

/** Templates that a repository publishes for users to fill in. */
const PATTERN_FILE = /\.(?:example|sample|template|dist|defaults)$/;

/** Reads the variables of a folder's `.env` and `.env.*` files. */
export function dotenvVariables(folder: string): readonly (readonly [name: string, value: string])[] {
  const names = statSync(folder, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(folder) : [];
  const files = names.filter((name) => /^\.env(?:\..+)?$/.test(name) && !PATTERN_FILE.test(name));
  return files.flatMap((file) => {
    const variables = parseEnv(readSmall(join(folder, file)) ?? "");
    return Object.entries(variables).map(([name, value = ""]) => [name, value] as const);
  });
}
