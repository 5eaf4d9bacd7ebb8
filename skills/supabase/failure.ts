import { clip } from "skillflow/internal";

/** Error body of PostgREST, or of a gateway in front of it. */
export interface Said {
  readonly message?: unknown;
  readonly details?: unknown;
  readonly hint?: unknown;
  readonly code?: unknown;
}

/** Refusal with its status and a message that explains what to change. */
export class Refusal extends Error {
  readonly code: string;
  readonly status: number;

  constructor(status: number, said: Said, method: string) {
    super(wordsFor(status, said, method));
    this.status = status;
    this.code = codeOf(said);
  }

  /** True if the table, view or function does not exist, in the codes of different versions. */
  get isUnknownTable(): boolean {
    return this.code === "PGRST205" || (this.code === "42P01" && this.status === 404);
  }
}

const TYPE = "Check the column's type with describe_table.";
const KEY = "SUPABASE_SERVICE_ROLE_KEY is wrong, expired or from a different project.";
const COLUMN = "Look up the columns with describe_table.";
const AGAIN = "Nothing was changed. Try again.";

const ADVICE: Readonly<Record<string, string>> = {
  "0A000": "The table or view does not allow this.",
  "21000": "The same row occurs twice. Give it once.",
  "22001": "The text is too long for the column.",
  "22003": "The number is out of the column's range.",
  "22007": "Write dates and times in ISO 8601.",
  "22008": "The date or time is out of range.",
  "22P02": `The value does not match the column's type. ${TYPE}`,
  "23502": "This column needs a value.",
  "23503": "The referenced row does not exist, or other rows still refer to this one. Fix that first.",
  "23505": "A row with this key already exists. Update it, or insert with unless_exists to keep it.",
  "23514": "A check constraint of the table rejects the value. The details show the row. Use another value.",
  "25006": "The call would write, but only reading is allowed.",
  "40001": AGAIN,
  "40P01": AGAIN,
  "42703": COLUMN,
  "42804": TYPE,
  "42883": `The operator does not match the column's type. ${TYPE}`,
  "428C9": "The database generates this column's value. Leave it out.",
  "42P01": "Look up the tables with list_tables.",
  "42P10": "unless_exists must list all columns of a primary key or a unique constraint.",
  "55000": "The view is not writable. Write to its table.",
  "57014": "The query took too long. Narrow the conditions, read fewer rows, or count with method estimated.",
  PGRST103: "The offset is beyond the last row. Use a smaller one.",
  PGRST106: "Use one of those schemas. Others are not exposed.",
  PGRST116: "Expected exactly one row. Change the conditions.",
  PGRST123: "This project does not allow grouping in the database. Count with conditions instead.",
  PGRST202: "Check the function's name and the names of its arguments with list_tables.",
  PGRST203: "Several functions have this name. Give the arguments of one of them.",
  PGRST204: COLUMN,
  PGRST205: "Look up the tables with list_tables.",
  PGRST301: KEY,
  PGRST302: KEY,
  PGRST303: KEY,
  P0001: "The database's own code refuses this.",
};

function wordsFor(status: number, said: Said, method: string): string {
  const code = codeOf(said);
  const what = code === "" ? `${status}` : `${status}, ${code}`;
  const words = [said.message, said.details, code === "PGRST205" ? undefined : said.hint].map(phrase).join("");
  if (status >= 500) return `Supabase failed (${what}).${words}${adviceOn(code)}${outcome(method, code)}`;
  return `Supabase refused (${what}).${words}${adviceOn(code) || adviceAbout(status, code, said)}`;
}

function adviceAbout(status: number, code: string, { message }: Said): string {
  if (code === "42501") {
    return /row-level security/.test(String(message))
      ? " A row-level security policy does not allow the key's role to write this row. Change the row's values, or skip it."
      : " The role of SUPABASE_SERVICE_ROLE_KEY lacks this permission. Check that it is the service role's key.";
  }
  if (status === 401) return ` ${KEY}`;
  if (status === 403) return " SUPABASE_SERVICE_ROLE_KEY lacks permission.";
  if (status === 404) return " Nothing was found there. Check SUPABASE_URL, and write it without /rest/v1.";
  if (status === 413 || status === 414) return " The request is too large. Send less at a time.";
  return "";
}

function adviceOn(code: string): string {
  const advice = ADVICE[code];
  return advice === undefined ? "" : ` ${advice}`;
}

const LONGEST_PHRASE = 300;

function phrase(text: unknown): string {
  if (typeof text !== "string" || text.trim() === "") return "";
  const line = text.replace(/\s+/g, " ").trim();
  return ` ${clip(line, LONGEST_PHRASE).replace(/\.$/, "")}.`;
}

function codeOf({ code }: Said): string {
  return typeof code === "string" && /^(PGRST\d{3}|[0-9A-Z]{5})$/.test(code) ? code : "";
}

/**
 * Returns true if the transaction was rolled back or never began. After lost connections and 40003, a commit may have
 * succeeded.
 */
export function isUndone(code: string): boolean {
  return /^PGRST00[023]$/.test(code) || (/^[0-9A-Z]{5}$/.test(code) && !/^(08|57P|40003)/.test(code));
}

export function outcome(method: string, code = ""): string {
  if (method === "GET") return " Try again later.";
  return isUndone(code) ? " Nothing was changed." : " Whether it took effect is unclear: check before you repeat it.";
}
