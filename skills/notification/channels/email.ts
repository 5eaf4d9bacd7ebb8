import { createHash } from "node:crypto";
import type { NodemailerError, SMTPSentMessageInfo, SMTPTransportOptions } from "nodemailer";
import { type JsonObject, NothingDone, type ToolContext } from "skillflow";
import { clip } from "skillflow/internal";
import { type Channel, idempotencyKey, setting } from "../channel.ts";
import { bodyText, heading, type Notice } from "../notice.ts";
import { UNCLEAR } from "../post.ts";

export const emailChannel: Channel = {
  needs: ["SMTP_URL", "NOTIFICATION_EMAIL_FROM", "NOTIFICATION_EMAIL_TO"],
  open: (context) => {
    const server = parseServer(setting(context, "SMTP_URL"));
    const envelope = {
      from: parseSender(setting(context, "NOTIFICATION_EMAIL_FROM")),
      to: parseAddresses("NOTIFICATION_EMAIL_TO", setting(context, "NOTIFICATION_EMAIL_TO")),
    };
    return async (notice) => receipt(await sendMail({ server, envelope, notice, context }));
  },
};

interface Address {
  readonly name: string;
  readonly address: string;
}

interface Mail {
  readonly server: SMTPTransportOptions;
  readonly envelope: { readonly from: Address; readonly to: readonly Address[] };
  readonly notice: Notice;
  readonly context: ToolContext;
}

/** Time limit for one message, from connecting to the server's confirmation. */
const LONGEST_MS = 30_000;

async function sendMail({ server, envelope, notice, context }: Mail): Promise<SMTPSentMessageInfo> {
  if (context.offline && !LOOPBACK.test(server.host ?? "")) {
    throw new NothingDone(`The mail server ${server.host} was not contacted: the run is offline.`);
  }
  const { createTransport } = await import("nodemailer");
  const timeout = AbortSignal.timeout(LONGEST_MS);
  const { from, to } = envelope;
  try {
    return await createTransport(server).sendMail({
      from,
      to: [...to],
      subject: heading(notice),
      text: bodyText(notice),
      html: htmlOf(notice),
      messageId: messageId(notice, from, context),
      headers: { "auto-submitted": "auto-generated" },
      disableFileAccess: true,
      disableUrlAccess: true,
      signal: AbortSignal.any([context.signal, timeout]),
    });
  } catch (error) {
    context.signal.throwIfAborted();
    if (!timeout.aborted && isUnsent(error)) throw new NothingDone(mailAdvice(error));
    throw new Error(timeout.aborted ? SILENT : mailAdvice(error));
  }
}

const SILENT = `The mail server did not finish within ${LONGEST_MS / 1000} s. Whether the message was sent is unclear.`;

/** Returns the number of recipients. A server may accept a message for only some of them. */
function receipt({ accepted, rejected }: SMTPSentMessageInfo): JsonObject {
  const count = { recipients: accepted.length };
  return rejected.length === 0 ? count : { ...count, refused: rejected };
}

/** Returns the same id for every attempt of a call, so that mailboxes show the message once. */
function messageId(notice: Notice, { address }: Address, context: ToolContext): string {
  const digest = createHash("sha256").update(idempotencyKey(context, notice)).digest("hex").slice(0, 40);
  return `<skillflow.${digest}@${address.slice(address.lastIndexOf("@") + 1)}>`;
}

/** Returns text-only HTML, without links, images or anything else that a mail client would fetch. */
function htmlOf(notice: Notice): string {
  const lines = htmlText(bodyText(notice)).replaceAll("\n", "<br>\n");
  return `<p><strong>${htmlText(heading(notice))}</strong></p>\n<p>${lines}</p>\n`;
}

function htmlText(text: string): string {
  return text.replace(/[&<>"'`]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

/**
 * Parses SMTP_URL. Passwords require encryption, except to this machine. Parameters are refused, because nodemailer's
 * could disable certificate checks.
 */
function parseServer(text: string): SMTPTransportOptions {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url?.hostname || !/^smtps?:$/.test(url.protocol)) throw new Error(`SMTP_URL must be ${SMTP_FORM}.`);
  if (url.search || url.hash || url.pathname.length > 1) {
    throw new Error(`SMTP_URL contains more than ${SMTP_FORM}. Percent-encode the name and password.`);
  }
  const secure = url.protocol === "smtps:";
  const hasPassword = url.username !== "" || url.password !== "";
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (secure ? 465 : 587) : Number(url.port),
    secure,
    requireTLS: !secure && hasPassword && !LOOPBACK.test(url.hostname),
    ...(hasPassword ? { auth: { user: decoded(url.username), pass: decoded(url.password) } } : {}),
    maxResponseSize: 64_000,
  };
}

const SMTP_FORM = "smtp://name:password@host:port or smtps://name:password@host:port";
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[?::1\]?)$/;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) throw new Error("SMTP_URL contains a % that encodes nothing. Write it as %25.");
    throw error;
  }
}

function parseSender(text: string): Address {
  const [from, ...others] = parseAddresses("NOTIFICATION_EMAIL_FROM", text);
  if (from && others.length === 0) return from;
  throw new Error("NOTIFICATION_EMAIL_FROM contains more than one address.");
}

const MOST_RECIPIENTS = 20;

function parseAddresses(field: string, text: string): readonly Address[] {
  const addresses = text.split(",").map((part) => {
    const [, name = "", framed, bare] = MAILBOX.exec(part.trim()) ?? [];
    const address = framed ?? bare;
    if (!address)
      throw new Error(`${field} must be a list of addresses, such as ops@example.com or Ops <ops@example.com>.`);
    return { name: name.trimEnd(), address };
  });
  if (addresses.length > MOST_RECIPIENTS) throw new Error(`${field} contains more than ${MOST_RECIPIENTS} addresses.`);
  return addresses;
}

/** Single-line `Name <address>` or address that cannot start another header or mailbox. */
const MAILBOX =
  /^(?:"?([^"<>()@,;:\\\p{Cc}]*)(?:"\s*)?<([^\s<>()"@,;:\\]+@[A-Za-z0-9.-]+)>|([^\s<>()"@,;:\\]+@[A-Za-z0-9.-]+))$/u;

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
