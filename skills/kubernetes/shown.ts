import { isObject } from "skillflow/internal";

/** Removal of secrets, and of what may be one, from objects of any kind before a model reads them. */

const HIDDEN = "[not shown]";

/** Returns an object without secrets. The status comes first, because long output is cut at the end. */
export function shownOf(object: object): Readonly<Record<string, unknown>> {
  const { apiVersion, kind, metadata, status, ...rest } = object as Readonly<Record<string, unknown>>;
  const held = HOLDERS.filter((key) => rest[key] !== undefined).map((key) => [key, sizesOf(rest[key])] as const);
  const clean = plainOf({ status, ...rest, ...Object.fromEntries(held) }) as Record<string, unknown>;
  const told = { apiVersion, kind, metadata: metadataOf(metadata), ...clean };
  return Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined));
}

export function partOf(object: unknown, path: string): unknown {
  let part = object;
  for (const key of path.split(".")) {
    if (typeof part !== "object" || part === null || !Object.hasOwn(part, key))
      throw new Error(`The object has no ${path}. Omit \`part\` to read it from the beginning.`);
    part = part[key as keyof typeof part];
  }
  return part;
}

/** Fields with arbitrary user data, as in Secrets, ConfigMaps and sealed secrets. */
const HOLDERS = ["data", "stringData", "binaryData"] as const;

function sizesOf(held: unknown): unknown {
  if (!isObject(held)) return HIDDEN;
  return Object.fromEntries(Object.entries(held).map(([key, value]) => [key, hidden(value)]));
}

/** Removes managed fields, which are noise, and annotations with a copy of the object, which expose hidden values. */
function metadataOf(metadata: unknown): unknown {
  if (!isObject(metadata)) return undefined;
  const { managedFields: _, annotations, ...rest } = metadata;
  const own = Object.entries(isObject(annotations) ? annotations : {}).filter(([key]) => !COPIES.test(key));
  return plainOf({ ...rest, ...(own.length > 0 ? { annotations: Object.fromEntries(own) } : {}) });
}

const COPIES =
  /last-applied(?:-configuration)?$|last-handled-configuration$|^kapp\.k14s\.io\/original(?:-diff.*)?$|^objectset\.rio\.cattle\.io\/applied$/;

function plainOf(value: unknown, key = ""): unknown {
  if (typeof value === "string")
    return SECRET_NAME.test(key) || key === "caBundle" ? hidden(value) : withoutSecrets(value);
  if (Array.isArray(value)) return value.map((item, index) => itemOf(item, key, value[index - 1]));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([member, inner]) => {
    const isValues = /^values(Object)?$/.test(member) && !Array.isArray(inner);
    return [member, isValues ? hidden(inner) : plainOf(inner, member)] as const;
  });
  return Object.fromEntries(entries);
}

/** Hides values of environment variables, of parameters named like secrets, and of secret command-line options. */
function itemOf(item: unknown, list: string, before: unknown): unknown {
  if (isObject(item) && item["value"] !== undefined && typeof item["name"] === "string") {
    const { value, ...rest } = item;
    return { ...rest, value: list === "env" || SECRET_NAME.test(item["name"]) ? hidden(value) : plainOf(value) };
  }
  if (typeof item === "string" && typeof before === "string" && SECRET_OPTION.test(before)) return HIDDEN;
  return plainOf(item);
}

const WORDS = "pass(?:word|wd|phrase)?|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credentials?";
const SECRET_NAME = new RegExp(`(?:${WORDS}|connection[-_]?string|dsn)$`, "i");
const SECRET_OPTION = new RegExp(`^--?[\\w-]*(?:${WORDS})$`, "i");
const SECRET_ARGUMENT = new RegExp(`((?<!\\S)--?[\\w-]*(?:${WORDS})\\s+["']?)(?!-)[^\\s"';&]+`, "gi");
const SECRET_TEXT = new RegExp(`(?<![\\w.-])([\\w.-]*(?:${WORDS})["']?\\s*[=:]\\s*["']?)[^\\s"',;&]+`, "gi");

function withoutSecrets(text: string): string {
  return text
    .replace(SECRET_TEXT, `$1${HIDDEN}`)
    .replace(SECRET_ARGUMENT, `$1${HIDDEN}`)
    .replace(/(\/\/)[^\s/@]+@/g, `$1${HIDDEN}@`)
    .replace(/\b(bearer|basic) +[\w.~+/=-]{8,}/gi, `$1 ${HIDDEN}`);
}

function hidden(value: unknown): string {
  const size = typeof value === "string" ? value.length : (JSON.stringify(value)?.length ?? 0);
  return `[not shown: ${size} characters]`;
}
