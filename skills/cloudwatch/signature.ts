import { createHash, createHmac } from "node:crypto";

/** AWS Signature Version 4 for a POST without a query string. */

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface Scope {
  readonly region: string;
  /** Service name in the signature: logs or monitoring. */
  readonly service: string;
  readonly now: Date;
}

/** Returns the headers of a POST, with those that sign it. */
export function signed(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  { accessKeyId, secretAccessKey, sessionToken }: Credentials,
  { region, service, now }: Scope,
): Record<string, string> {
  const at = now.toISOString().replace(/[-:]|\.\d+/g, "");
  const dated = { ...headers, "x-amz-date": at, ...(sessionToken ? { "x-amz-security-token": sessionToken } : {}) };
  const told = Object.entries({ ...dated, host: url.host }).sort(([a], [b]) => (a < b ? -1 : 1));
  const names = told.map(([name]) => name).join(";");
  const lines = told.map(([name, value]) => `${name}:${value.trim()}\n`).join("");
  const request = ["POST", url.pathname, "", lines, names, hash(body)].join("\n");
  const scope = [at.slice(0, 8), region, service, "aws4_request"];
  const key = scope.reduce<string | Buffer>((secret, part) => keyed(secret, part), `AWS4${secretAccessKey}`);
  const signature = keyed(key, ["AWS4-HMAC-SHA256", at, scope.join("/"), hash(request)].join("\n")).toString("hex");
  const credential = `Credential=${accessKeyId}/${scope.join("/")}`;
  return { ...dated, authorization: `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${names}, Signature=${signature}` };
}

function keyed(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
