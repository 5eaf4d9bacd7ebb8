import type { AddressInfo, Socket } from "node:net";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";

/** A real mail server on 127.0.0.1. */
export interface MailService {
  readonly port: number;
  /** Every message that was accepted. */
  readonly messages: readonly ReceivedMail[];
  onSocket(listener: (socket: Socket) => void): void;
  close(): Promise<void>;
}

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
}

export const MAIL_USER = "ops@example.com";
export const MAIL_PASSWORD = "canary p@ss/word";

/**
 * Accepts one user, and refuses recipients whose address starts with "nobody". Offers no encryption unless `options`
 * enables it.
 */
export async function startMail(options: SMTPServerOptions = {}): Promise<MailService> {
  const messages: ReceivedMail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: ["STARTTLS"],
    disableReverseLookup: true,
    closeTimeout: 100,
    logger: false,
    onAuth: ({ username, password }, _session, done) =>
      username === MAIL_USER && password === MAIL_PASSWORD
        ? done(null, { user: username })
        : done(new Error(`no: ${username} ${password}`)),
    onRcptTo: ({ address }, _session, done) =>
      done(address.startsWith("nobody") ? Object.assign(new Error("unknown user"), { responseCode: 550 }) : null),
    onData: (stream, { envelope }, done) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = envelope;
        const from = mailFrom === false ? "" : mailFrom.address;
        const raw = Buffer.concat(chunks).toString("utf8");
        messages.push({ from, to: rcptTo.map(({ address }) => address), raw });
        done();
      });
    },
    ...options,
  });
  // A client that hangs up in the middle is an error of the session, not of the test.
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  const onSocket = (listener: (socket: Socket) => void) => void server.server.on("connection", listener);
  return { port, messages, onSocket, close: () => new Promise((resolve) => server.close(() => resolve())) };
}

/** A part of a message: its headers in order, and its content decoded. */
export interface MailPart {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly content: string;
}

export function headerOf({ headers }: MailPart, name: string): string {
  return headers.find(([key]) => key === name)?.[1] ?? "";
}

/** The message and, if it has any, its parts. */
export function parseMail(raw: string): readonly MailPart[] {
  const whole = parsePart(raw);
  const boundary = /boundary="([^"]+)"/.exec(headerOf(whole, "content-type"))?.[1];
  if (!boundary) return [whole];
  const parts = raw.slice(raw.indexOf("\r\n\r\n")).split(`--${boundary}`).slice(1, -1);
  return [whole, ...parts.map((part) => parsePart(part.replace(/^\r\n/, "").replace(/\r\n$/, "")))];
}

function parsePart(raw: string): MailPart {
  const end = raw.indexOf("\r\n\r\n");
  const lines = raw
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, " ")
    .split("\r\n");
  const headers = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), decodeWords(line.slice(colon + 1).trim())] as const;
  });
  const encoding = headers.find(([name]) => name === "content-transfer-encoding")?.[1] ?? "7bit";
  return { headers, content: decodeContent(raw.slice(end + 4), encoding).replaceAll("\r\n", "\n") };
}

function decodeContent(text: string, encoding: string): string {
  if (encoding === "base64") return Buffer.from(text, "base64").toString("utf8");
  return encoding === "quoted-printable" ? decodeQuoted(text.replace(/=\r\n/g, "")) : text;
}

/** `=?UTF-8?Q?…?=`, as headers are encoded. */
function decodeWords(text: string): string {
  return text
    .replace(/\?=\s+=\?/g, "?==?")
    .replace(/=\?utf-8\?([BQ])\?([^?]*)\?=/gi, (_, form: string, word: string) =>
      form.toUpperCase() === "B"
        ? Buffer.from(word, "base64").toString("utf8")
        : decodeQuoted(word.replaceAll("_", " ")),
    );
}

function decodeQuoted(text: string): string {
  const bytes = text.replace(/=([0-9A-F]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}
