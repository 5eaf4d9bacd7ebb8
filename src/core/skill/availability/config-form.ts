/** Required form of a config field's value. Surrounding white space is removed if `format` is declared. */
export interface ConfigForm {
  readonly format?: ConfigFormat;
  /** For `format: url`: accepted schemes, default http and https. With schemes, credentials are allowed. */
  readonly schemes?: readonly string[];
}

/** Reports what exists at a path of the config on this machine. */
export type LookUp = (path: string) => "file" | "directory" | "unreadable" | "none";

interface Format {
  /** Completes "set NAME to". */
  readonly wanted: string;
  /** Tests a value without surrounding white space. */
  readonly fits: (value: string, form: ConfigForm, lookUp: LookUp) => boolean;
}

/** Forms that a config field can declare, in the order of the docs. */
const FORMATS = {
  text: { wanted: "a string", fits: () => true },
  name: { wanted: "one word, without white space", fits: (value) => /^[^\s\p{Cc}]+$/u.test(value) },
  token: {
    wanted: "a token of visible ASCII characters, without white space",
    fits: (value) => /^[\x21-\x7e]+$/.test(value),
  },
  integer: { wanted: "a whole number", fits: (value) => /^-?\d{1,15}$/.test(value) },
  url: { wanted: "an http or https URL without a user name and password", fits: isUrl },
  base_url: {
    wanted: "an http or https URL without a user name, password, ? and #",
    fits: (value, form) => isUrl(value, form) && !/[?#]/.test(value),
  },
  host: { wanted: "a host name, such as example.com", fits: isHost },
  host_list: {
    wanted: "hosts separated by commas, such as api.example.com, *.example.com or 10.0.0.5:8080",
    fits: (value) => isList(value.split(/[\s,]+/), (entry) => isHost(entry.replace(/^https?:\/\/(.*?)\/?$/i, "$1"))),
  },
  list: { wanted: "entries separated by commas", fits: (value) => isList(value.split(/[\s,]+/), () => true) },
  email: { wanted: "an email address", fits: isMailbox },
  email_list: {
    wanted: "email addresses separated by commas",
    fits: (value) => value.split(",").every((entry) => isMailbox(entry.trim())),
  },
  file: { wanted: "a file that exists and can be read", fits: (value, _, lookUp) => lookUp(value) === "file" },
  directory: { wanted: "a directory that exists", fits: (value, _, lookUp) => lookUp(value) === "directory" },
  path: {
    wanted: "a file or directory that exists",
    fits: (value, _, lookUp) => /^(?:file|directory)$/.test(lookUp(value)),
  },
} as const satisfies Readonly<Record<string, Format>>;

type ConfigFormat = keyof typeof FORMATS;
export const CONFIG_FORMATS = Object.keys(FORMATS) as readonly ConfigFormat[];

/** Returns text that completes "set NAME to", or undefined for a field without a form. */
export function wantedOf({ format, schemes }: ConfigForm): string | undefined {
  if (schemes) return `a URL that begins with ${schemes.map((scheme) => `${scheme}://`).join(" or ")}`;
  return format && FORMATS[format].wanted;
}

/** Checks whether a trimmed value has the declared form. */
export function hasForm(value: string, form: ConfigForm, lookUp: LookUp): boolean {
  const { fits }: Format = FORMATS[form.format ?? "text"] ?? FORMATS.text;
  return fits(value, form, lookUp);
}

/** Checks a URL. User name and password are allowed only with declared schemes, such as a database's. */
function isUrl(value: string, { schemes }: ConfigForm): boolean {
  if (/\s/.test(value) || !URL.canParse(value)) return false;
  const { protocol, hostname, username, password } = new URL(value);
  if (schemes) return schemes.includes(protocol.slice(0, -1)) && hostname !== "";
  return /^https?:$/.test(protocol) && username === "" && password === "";
}

const HOST = /^(\*\.)?([a-z\d_](?:[a-z\d_.-]*[a-z\d_.])?|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

function isHost(entry: string): boolean {
  const [, wildcard, name] = HOST.exec(entry) ?? [];
  return name !== undefined && !(wildcard && !name.includes("."));
}

function isList(entries: readonly string[], fits: (entry: string) => boolean): boolean {
  const given = entries.filter((entry) => entry !== "");
  return given.length > 0 && given.every(fits);
}

/** Accepts `ops@example.com` and `Ops <ops@example.com>`. */
function isMailbox(value: string): boolean {
  const start = value.endsWith(">") ? value.lastIndexOf("<") : -1;
  const address = start < 0 ? value : value.slice(start + 1, -1);
  const at = address.lastIndexOf("@");
  return at > 0 && at < address.length - 1 && !/[\s<>,;:]/.test(address);
}
