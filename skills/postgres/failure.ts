import { createRedactor, type ToolContext } from "skillflow";
import { clip } from "skillflow/internal";
import { placeOf, STATEMENT_SECONDS } from "./connection.ts";

/** Returns an error that explains what to change, without a cause or secrets. */
export function explain(error: unknown, config: ToolContext["config"]): Error {
  const secrets = [{ name: "POSTGRES_URL", value: config["POSTGRES_URL"] ?? "" }, ...passwordOf(config)];
  return new Error(createRedactor(secrets).text(adviceFor(error)));
}

function passwordOf(config: ToolContext["config"]) {
  try {
    return [{ name: "POSTGRES_URL", value: placeOf(config).password }];
  } catch {
    return [];
  }
}

const ADVICE: Readonly<Record<string, string>> = {
  "28P01": "Postgres login failed: the user or the password in POSTGRES_URL is wrong.",
  "28000": "Postgres login failed: the role in POSTGRES_URL cannot log in from here, or not without TLS.",
  "3D000": "The database that POSTGRES_URL names does not exist.",
  "53300": "Postgres has no free connections. That may be part of the incident. Try again later.",
  "57P03": "Postgres is starting up, shutting down or recovering. Try again later.",
  "42501":
    "The role in POSTGRES_URL has no permission to read this. Do not treat it as an empty result. Ask for the grant, or continue without it.",
  "57014": `The statement took longer than ${STATEMENT_SECONDS} seconds and was canceled. Use explain to see why, narrow it, or read fewer rows.`,
  "55P03": "The statement waited 2 seconds for a lock. list_locks shows who holds it.",
  "25006": "Statements, and the functions that they call, must not write.",
  "42P01": "There is no such table or view. list_tables lists the names.",
  "42703": "There is no such column. describe_table lists them.",
  "42883": "There is no such function, or none for these types.",
  "55000": "The extension that this needs is not loaded.",
};

const CONNECTION: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ENOTFOUND: "host not found",
  EAI_AGAIN: "DNS lookup failed",
  ETIMEDOUT: "no response",
  ECONNRESET: "the connection was reset",
};

function adviceFor(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? String(error.code) : "";
  const words = clip(error.message.replace(/\s+/g, " "), 500);
  if (Object.hasOwn(ADVICE, code)) return `${ADVICE[code]} (${code}: ${words})`;
  if (/^[0-9A-Z]{5}$/.test(code)) return `Postgres refused the statement (${code}): ${words}${hintOf(error)}`;
  if (Object.hasOwn(CONNECTION, code))
    return `Could not reach Postgres (${code}): ${CONNECTION[code]}. Check POSTGRES_URL.`;
  if (/timeout expired|terminated unexpectedly|SSL|self.signed|certificate/i.test(words))
    return `Could not reach Postgres: ${words}. Check POSTGRES_URL and its sslmode.`;
  return words;
}

function hintOf(error: Error): string {
  return "hint" in error && typeof error.hint === "string" ? ` (${clip(error.hint, 300)})` : "";
}
