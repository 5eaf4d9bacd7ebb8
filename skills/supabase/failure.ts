import { clip } from "skillflow";

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

const TYPE = "Look at the column's type with describe_table.";
const KEY = "SUPABASE_SERVICE_ROLE_KEY is wrong, expired or of another project.";
const COLUMN = "Look up the columns with describe_table.";
const AGAIN = "Nothing was changed; try again.";

const ADVICE: Readonly<Record<string, string>> = {
  "0A000": "The table or view does not allow this.",
  "21000": "The same row is meant twice: give it once.",
  "22001": "The text is too long for the column.",
  "22003": "The number is out of the column's range.",
  "22007": "Write dates and times in ISO 8601.",
  "22008": "The date or time is out of range.",
  "22P02": `The value does not fit the column's type. ${TYPE}`,
  "23502": "This column must have a value: give one.",
  "23503": "The row that it refers to is not there, or other rows still refer to this one: handle that one first.",
  "23505": "A row with this key is there already: update it, or insert with unless_exists to leave it as it is.",
  "23514": "A check of the table forbids the value: the details show the row; choose another value.",
  "25006": "It would write, and only reading is allowed here.",
  "40001": AGAIN,
  "40P01": AGAIN,
  "42703": COLUMN,
  "42804": TYPE,
  "42883": `The operator does not suit the column's type. ${TYPE}`,
  "428C9": "The database makes this column's value itself: leave it out.",
  "42P01": "Look up the tables with list_tables.",
  "42P10": "unless_exists must name the columns of a primary key or of a unique constraint, and all of them.",
  "55000": "The view cannot be written: write to the table behind it.",
  "57014": "It took too long: narrow the conditions, ask for fewer rows, or count with method estimated.",
  PGRST103: "The offset is beyond the last row: begin at a smaller one.",
  PGRST106: "Name one of those schemas; others are not exposed.",
  PGRST116: "One row was wanted and another number of rows came: change the conditions.",
  PGRST123: "This project does not let its database group: count with conditions instead.",
  PGRST202: "Check the function's name and the names of its arguments with list_tables.",
  PGRST203: "Several functions bear this name: give the arguments of one of them.",
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
      ? " A row-level security policy forbids this row to the key's role: change the row's values, or leave it."
      : " The role of SUPABASE_SERVICE_ROLE_KEY lacks this right: is it really the service role's key?";
  }
  if (status === 401) return ` ${KEY}`;
  if (status === 403) return " SUPABASE_SERVICE_ROLE_KEY may not do this.";
  if (status === 404) return " Nothing answers there: check SUPABASE_URL, which is written without /rest/v1.";
  if (status === 413 || status === 414) return " The request is too large: send less at a time.";
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
  return isUndone(code) ? " Nothing was changed." : " Whether it took effect is unclear: look before doing it again.";
}
