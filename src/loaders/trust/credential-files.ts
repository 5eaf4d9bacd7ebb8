import { readdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseEnv } from "node:util";
import type { Secret } from "../../core/base/redact/secret-forms.ts";
import { percentDecoded } from "../../core/base/values.ts";
import { readSmall } from "../../files/files.ts";

/** Reads the credentials that a checkout's files hold for git and npm. */
export function credentialsIn(folder: string, home: string | undefined): readonly Secret[] {
  return [...gitCredentials(folder, home), ...npmCredentials(folder)];
}

const MOST_INCLUDES = 32;

function gitCredentials(folder: string, home: string | undefined): Secret[] {
  const found: Secret[] = [];
  const open = gitConfigs(folder);
  const seen = new Set<string>();
  for (let path = open.pop(); path !== undefined && seen.size < MOST_INCLUDES; path = open.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    const text = readSmall(path) ?? "";
    found.push(...userParts(text).map((value) => ({ name: "git-config", value })));
    for (const [, header = ""] of text.matchAll(/^[ \t]*extraheader[ \t]*=[ \t]*(\S.*)/gim)) {
      const value = unquoted(header);
      const credential = value.replace(/^[\w-]+:\s*(?:(?:basic|bearer|token)\s+)?/i, "");
      found.push({ name: "git-config", value }, { name: "git-config", value: credential });
    }
    for (const [, name = ""] of text.matchAll(/^[ \t]*path[ \t]*=[ \t]*(\S.*)/gim)) {
      const given = unquoted(name);
      open.push(given.startsWith("~/") && home ? join(home, given.slice(2)) : resolve(dirname(path), given));
    }
  }
  return found;
}

/** Lists Git config files. In a linked worktree, `.git` is a file with the repository's path. */
function gitConfigs(folder: string): string[] {
  const own = join(folder, ".git");
  const pointer = /^gitdir:[ \t]*(\S.*)/m.exec(readSmall(own) ?? "")?.[1]?.trimEnd();
  if (pointer === undefined) return [join(own, "config")];
  const directory = resolve(folder, pointer);
  const common = readSmall(join(directory, "commondir"))?.trim();
  return [
    join(directory, "config"),
    join(directory, "config.worktree"),
    ...(common ? [join(resolve(directory, common), "config")] : []),
  ];
}

function unquoted(text: string): string {
  return text.trimEnd().replace(/^"(.*)"$/, "$1");
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
  return [...text.matchAll(/^[^#;\r\n\u2028\u2029]*?(_authToken|_auth|_password)[ \t]*=[ \t]*(\S.*)/gm)].map(
    ([, name = "", value = ""]) => ({
      name: `npmrc${name}`,
      value: unquoted(value),
    }),
  );
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
