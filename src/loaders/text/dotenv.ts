import type { Secret } from "../../core/base/redact/secret-forms.ts";
import { percentDecoded } from "../../core/base/values.ts";
import { endsAsSecret } from "../../core/document/config.ts";
import { containsToken } from "../../core/engine/plan/public-text.ts";

/** Values of a `.env` file in the checkout. An untrusted author may have written it, so its marks name the file. */

export interface DeclaredVariables {
  isReadable(name: string): boolean;
  isSecret(name: string): boolean;
}

/** Shorter values may be ordinary words. */
const SHORTEST = 8;

/** Returns the secrets in one variable of a `.env` file: none for the name of a repository, a site or a host. */
export function dotenvSecrets(name: string, value: string, declared: DeclaredVariables): Secret[] {
  const credentials = credentialsOf(value);
  const isSecret =
    !declared.isReadable(name) &&
    (endsAsSecret(name) || declared.isSecret(name) || credentials.length > 0 || looksLikeToken(value));
  const shown = /^\w{1,100}$/.test(name) ? `.env ${name}` : ".env";
  return [...(isSecret ? [value] : []), ...credentials]
    .filter((each) => each.length >= SHORTEST)
    .map((each) => ({ name: shown, value: each }));
}

const URL_START = /^\s*(?:[a-z][a-z\d+.-]{0,30}:){1,3}\/\//i;

/** `user:password` of a URL and the password, or a user that is a token. `git@` is neither. */
function credentialsOf(value: string): string[] {
  const [start] = URL_START.exec(value) ?? [];
  if (start === undefined) return [];
  const authority = value.slice(start.length).split(/[/?#\s]/, 1)[0] ?? "";
  const user = authority.slice(0, Math.max(0, authority.lastIndexOf("@")));
  const colon = user.indexOf(":");
  const secret = user.slice(colon + 1);
  if (secret === "" || (colon < 0 && !looksLikeToken(secret))) return [];
  return [...new Set([user, secret, percentDecoded(secret)])];
}

/** Counts as a token: known prefixes, long mixed strings, long hexadecimal strings. A UUID, a slug or a host does not. */
function looksLikeToken(value: string): boolean {
  const text = value.trim();
  if (text.startsWith("-----BEGIN ")) return true;
  if (/^[a-z\d]{24,}$/i.test(text) && changesOften(text)) return true;
  const path = text.replace(URL_START, "//");
  return containsToken(path.startsWith("//") ? path.replace(/^\/\/[^/?#@]*@?[^/?#]*/, "").replaceAll("/", " ") : text);
}

/** Random letters and digits alternate far more often than words followed by a number. */
function changesOften(text: string): boolean {
  return (text.match(/\d(?=\D)|\D(?=\d)/g) ?? []).length >= text.length / 5;
}
