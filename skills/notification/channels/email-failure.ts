import type { NodemailerError } from "nodemailer";
import { clip } from "skillflow/internal";

/**
 * Returns true if the server has not accepted the message: it replied with a refusal, or was not reached. The error's
 * command does not help, because any broken connection has CONN, even after the whole message.
 */
export function isUnsent(error: unknown): boolean {
  const { code = "", responseCode = 0, syscall, timeoutType } = error as Partial<NodemailerError> & Broken;
  if (["EAUTH", "EENVELOPE", "ETLS", "EDNS"].includes(code) || responseCode >= 400) return true;
  return syscall === "connect" || timeoutType === "CONNECT_TIMEOUT" || timeoutType === "GREETING_TIMEOUT";
}

/** Properties that only connection errors have. */
interface Broken {
  readonly syscall?: string;
  readonly timeoutType?: string;
}

/** Explains a mail server's refusal and what to change. */
export function mailAdvice(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code = "", command = "", response = "", responseCode } = error as NodemailerError;
  const reply = clip(response.replace(/\s+/g, " ").trim(), 300);
  const words = reply || clip(error.message.replace(/\s+/g, " "), 300);
  if (code === "EAUTH") return `The mail server refused the name or the password in SMTP_URL (${words}).`;
  if (code === "EENVELOPE") {
    const field = command === "MAIL FROM" ? "NOTIFICATION_EMAIL_FROM" : "NOTIFICATION_EMAIL_TO";
    return `The mail server refused ${field} (${words}). Nothing was sent.`;
  }
  if (code === "ETLS") {
    return `The connection to the mail server could not be encrypted (${words}). Use a port that offers TLS, or smtps://.`;
  }
  if (responseCode !== undefined && responseCode >= 500) return `The mail server refused the message (${words}).`;
  if (responseCode !== undefined && responseCode >= 400) {
    return `The mail server does not accept the message now (${words}). Nothing was sent. Send it again later.`;
  }
  const outcome = isUnsent(error) ? "Nothing was sent." : UNCLEAR;
  return `The mail server could not be reached, or closed the connection (${code || words}${code ? `: ${words}` : ""}). ${outcome}`;
}

const UNCLEAR = "Whether the message was sent is unclear: check before you send it again.";
