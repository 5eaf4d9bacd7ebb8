import { type Json, lazy, mapStrings } from "../../base/values.ts";

const KINDS = ["email", "ip", "token", "host"] as const;
type Kind = (typeof KINDS)[number];

/** Aliases of host names and IP addresses in the public texts of a run, by what they stand for. */
export type Aliases = ReadonlyMap<string, string>;

/**
 * Removes e-mail addresses and tokens from an input, and replaces host names and IP addresses by aliases. `host` is the
 * target's own name, which may stay. `known` are the aliases of the run's earlier public texts.
 */
export function forPublic(
  input: Json,
  { host, known = new Map() }: { readonly host?: string | undefined; readonly known?: Aliases } = {},
) {
  const counts = new Map<Kind, number>();
  const aliases = new Map(known);
  const aliasOf = createNaming(aliases);
  const remove = (kind: Kind, text: string) => {
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return kind === "host" || kind === "ip" ? aliasOf(kind, text) : `[removed:${kind}]`;
  };
  const clean = (text: string) => cleanText(text, host, remove);
  const cleaned = mapStrings(input, clean, clean);
  return {
    input: cleaned,
    filtered: KINDS.flatMap((kind) => (counts.has(kind) ? { kind, count: counts.get(kind) ?? 0 } : [])),
    /** Values of the new aliases, such as `{"host-1": "db.internal"}`. */
    aliases: Object.fromEntries([...aliases].slice(known.size).map(([text, alias]) => [alias, text])),
  };
}

/**
 * Removes the same from a result that a public text refers to. The person who approved the reference has not seen the
 * result. An address on its own stays: it is the link that was approved.
 */
export function publicResult(result: Json, host: string | undefined): Json {
  const clean = (text: string) => cleanText(text, host, (kind) => `[removed:${kind}]`);
  return mapStrings(result, (text) => (/^https?:\/\/[^\s@]+$/.test(text) ? text : clean(text)), clean);
}

/** Creates a function that returns the alias of a name or an address: `host-1`, `ip-2`. Each kind is counted separately. */
function createNaming(aliases: Map<string, string>) {
  const countOf = (kind: string) => [...aliases.values()].filter((alias) => alias.startsWith(`${kind}-`)).length;
  const used = { host: countOf("host"), ip: countOf("ip") };
  return (kind: "host" | "ip", text: string): string => {
    const name = text.toLowerCase();
    const known = aliases.get(name);
    if (known !== undefined) return known;
    used[kind] += 1;
    aliases.set(name, `${kind}-${used[kind]}`);
    return `${kind}-${used[kind]}`;
  };
}

const OCTET = String.raw`(?:25[0-5]|2[0-4]\d|1?\d?\d)`;
const IPV4 = new RegExp(String.raw`(?<![\d.]|\bv(?!(?:10|127|172|192)\.))(?:${OCTET}\.){3}${OCTET}(?![\d]|\.\d)`, "g");
const IPV6 =
  /(?<![\w:.])(?=[\da-f:.]*:[\da-f]*:)(?:[\da-f]{0,4}:){2,7}(?:(?:\d{1,3}\.){3}\d{1,3}|[\da-f]{1,4})?(?:%\w+)?(?![\w:])/gi;
/** Tokens with the prefixes of well-known vendors. */
const NAMED_TOKEN =
  /(?<![\w-])(?:gh[a-z]_|github_pat_|glpat-|xox[a-z]-|sk-|pk-|rk_|sk_|AKIA|ASIA|AIza|ya29\.|eyJ|lin_|sntry[a-z]*_|npm_|pypi-|dop_v1_|shpat_|hf_|SG\.)[\w.=/+-]{8,}/g;
const WORD = /(?<![\w/+=.-])[\w/+=-]{20,}(?![\w/+=-])/g;
const LABEL = String.raw`[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?`;
/** Host names. Does not match a reference to an operation's result, such as `${op-1.team}`. */
const host = lazy(
  () =>
    new RegExp(
      String.raw`(?<!\$\{(?=op-\d+\.))(?<![\p{L}\p{N}@._-])((?:[a-z][a-z\d+.-]{0,30}:)?\/\/)?((?:${LABEL}\.)+${LABEL})(:\d{2,5})?(?![\p{L}\p{N}_-])`,
      "giu",
    ),
);

function cleanText(text: string, own: string | undefined, remove: (kind: Kind, text: string) => string): string {
  const spared = text
    .replace(/[\p{L}\p{N}._%+-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.)+\p{L}{2,24}/gu, (address) => remove("email", address))
    .replace(NAMED_TOKEN, (token) => remove("token", token))
    .replace(WORD, (word) => (isToken(word) ? remove("token", word) : word));
  const unaddressed = replaceAddresses(spared, (address) => remove("ip", address));
  return unaddressed.replace(host(), (whole, scheme: string | undefined, name: string, port: string | undefined) => {
    const isAddressed = scheme !== undefined || (port !== undefined && !isPlaceInFile(name, port));
    return isForeignHost(name, own, isAddressed) ? `${scheme ?? ""}${remove("host", name)}${port ?? ""}` : whole;
  });
}

/** Replaces IP addresses of both versions in the order of the text, so that their aliases count up in it. */
function replaceAddresses(text: string, replace: (address: string) => string): string {
  const found: { readonly address: string; readonly at: number }[] = [];
  const take = (address: string, at: number) => {
    found.push({ address, at });
    return " ".repeat(address.length);
  };
  text.replace(IPV6, (address, at: number) => (isIpv6(address) ? take(address, at) : address)).replace(IPV4, take);
  let end = 0;
  const parts = found
    .sort((a, b) => a.at - b.at)
    .map(({ address, at }) => {
      const before = text.slice(end, at);
      end = at + address.length;
      return `${before}${replace(address)}`;
    });
  return `${parts.join("")}${text.slice(end)}`;
}

/** Rejects a time of day, and `::` alone. */
function isIpv6(address: string): boolean {
  if (!/[\da-f]/i.test(address)) return false;
  return address.includes("::") || address.split(":").length === 8;
}

/** Reports whether a text contains what looks like a token, by its prefix or because it is long and mixed. */
export function containsToken(text: string): boolean {
  const named = text.match(NAMED_TOKEN) ?? [];
  const words = text.match(WORD) ?? [];
  const isNamed = named.some((token) => !/^[sp]k-[^\dA-Z]*$/.test(token));
  return isNamed || words.some((word) => isToken(word) || /^[\da-f]{40}$/.test(word));
}

/** Detects long mixed strings that are not words. Commit ids and UUIDs do not count. */
function isToken(word: string): boolean {
  if (/^[\da-f]{40}$/.test(word) || /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(word)) return false;
  const kinds = [/[a-z]/, /[A-Z]/, /\d/].filter((kind) => kind.test(word)).length;
  if (/^[\da-f]+$/i.test(word)) return kinds >= 2 && word.length >= 32;
  const isPath = word.includes("/") && word.split("/").every((part) => part.length < 20 && changes(part) < 3);
  return kinds === 3 && !isPath && changes(word) >= 6;
}

/** Counts the changes between lowercase, uppercase and digits in a word. */
function changes(word: string): number {
  return (word.match(/[a-z](?=[A-Z\d])|[A-Z](?=\d)|\d(?=[A-Za-z])/g) ?? []).length;
}

/** Top-level names that no public host has. */
const PRIVATE_ENDS =
  /\.(?:internal|local|localdomain|lan|corp|home|intranet|private|priv|svc|consul|test|invalid|example|arpa|onion)$/i;
/** File extensions that are also top-level domains. Without a scheme or port, such a name is a file name. */
const FILE_ENDS =
  /\.(?:ts|tsx|js|jsx|mjs|cjs|py|rb|rs|go|sh|md|pl|cc|cs|hs|ml|mm|so|ps|py3|vb|kt|java|class|jar|json|jsonl|yml|yaml|toml|xml|html|css|sql|log|txt|csv|lock|conf|cfg|ini|env|zip|gz|tar|map|proto|tf|vue|svg|png)$/i;
/** File extensions that are also top-level domains. */
const AMBIGUOUS_ENDS = /\.(?:py|rs|sh|md|pl|cc|ml|mm|so|ps|zip|tf)$/i;
const USUAL_PORTS: readonly string[] = ":22 :25 :53 :80 :110 :143 :443 :465 :587 :993 :995 :8080 :8443".split(" ");

/** Checks whether a name and a number are a place in a file: `pool.ts:42`. If it may be a host, it is not. */
function isPlaceInFile(name: string, port: string): boolean {
  const isLikeHost = name.split(".").length > 2 || USUAL_PORTS.includes(port);
  return FILE_ENDS.test(name) && !(AMBIGUOUS_ENDS.test(name) && isLikeHost);
}

/** Common top-level domains, which other dotted names (`error.rate`, `node.exit`) do not have. */
const OPEN_ENDS =
  /\.(?:com|net|org|edu|gov|mil|int|info|biz|app|dev|io|ai|co|cloud|tech|online|site|xyz|me|tv|us|uk|de|fr|eu|ch|at|nl|be|se|no|dk|fi|es|it|pt|pl|cz|ru|cn|jp|kr|in|au|nz|ca|br|mx|za|ie|sg|hk|tw|il|tr|ua|run|systems|services|software|digital|network|host|store|shop|page|pro|team|tools|zone|live|world|works|group|agency)$/i;

function isForeignHost(name: string, own: string | undefined, isAddressed: boolean): boolean {
  const host = name.toLowerCase();
  if (own !== undefined && (host === own || host.endsWith(`.${own}`))) return false;
  if (PRIVATE_ENDS.test(host) || isAddressed) return !/^[\d.]+$/.test(host);
  return OPEN_ENDS.test(host) && !FILE_ENDS.test(host);
}
