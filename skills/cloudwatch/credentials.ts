import { createHash, createHmac } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { type Lack, SkillflowError, type ToolContext } from "skillflow";
import { keyOf } from "skillflow/internal";

const PACKAGE = "@aws-sdk/credential-providers";

/** Part of the AWS credentials package that is used here. */
export interface Providers {
  fromNodeProviderChain(options: { readonly profile?: string }): () => Promise<Credentials>;
}

/** Returns the keys from the config, or what AWS's credential chain finds, such as profiles or web identities. */
export async function credentialsOf(
  { config, offline }: Pick<ToolContext, "config" | "offline">,
  load: () => Providers | undefined = loadProviders,
): Promise<Credentials> {
  const accessKeyId = keyOf(config, "AWS_ACCESS_KEY_ID");
  const secretAccessKey = keyOf(config, "AWS_SECRET_ACCESS_KEY");
  if (accessKeyId && secretAccessKey)
    return { accessKeyId, secretAccessKey, sessionToken: keyOf(config, "AWS_SESSION_TOKEN") };
  const providers = load();
  if (!providers) throw new Error(`${NO_KEYS}.`);
  if (offline) throw new SkillflowError("offline.refused", "Did not ask AWS for credentials: the run is offline");
  const profile = config["AWS_PROFILE"]?.trim();
  return providers.fromNodeProviderChain(profile ? { profile } : {})();
}

const UNSET = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not both set";
const NO_KEYS = `${UNSET}, and the package ${PACKAGE}, which finds credentials elsewhere, is not installed next to skillflow`;
const SET_KEYS = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";

/** Reports why no credentials can be found, without network access. A partly set up chain counts as usable. */
export function lackingCredentials(
  { config }: Pick<ToolContext, "config">,
  { load = loadProviders, exists = existsSync }: Partial<Machine> = {},
): Lack | undefined {
  if (config["AWS_ACCESS_KEY_ID"] && config["AWS_SECRET_ACCESS_KEY"]) return undefined;
  if (!load()) {
    return { kind: "config_missing", reason: NO_KEYS, fix: `${SET_KEYS}, or npm install ${PACKAGE}` };
  }
  if (["AWS_PROFILE", ...CHAIN].some((name) => config[name])) return undefined;
  const files = ["config", "credentials"].map((name) => join(homedir(), ".aws", name));
  if (files.some(exists) || isInstance()) return undefined;
  const reason = `${UNSET}, and the AWS credential chain finds no profile, web identity, container or instance`;
  return { kind: "config_missing", reason, fix: `${SET_KEYS}, or AWS_PROFILE` };
}

/** Facts about this machine that need no network access. */
interface Machine {
  readonly load: () => Providers | undefined;
  readonly exists: (path: string) => boolean;
}

/** Variables that AWS's credential chain reads from the process. */
export const CHAIN = [
  "AWS_SHARED_CREDENTIALS_FILE",
  "AWS_CONFIG_FILE",
  "AWS_WEB_IDENTITY_TOKEN_FILE",
  "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
  "AWS_CONTAINER_CREDENTIALS_FULL_URI",
] as const;

/** Returns true if the firmware identifies this machine as an EC2 instance. */
function isInstance(): boolean {
  return ["devices/virtual/dmi/id/sys_vendor", "hypervisor/uuid"].some((file) => {
    try {
      return /^(?:Amazon EC2|ec2)/i.test(readFileSync(`/sys/${file}`, "utf8"));
    } catch {
      return false;
    }
  });
}

/** Loads the AWS package if it is installed next to skillflow, never from a checkout. */
function loadProviders(): Providers | undefined {
  const near = createRequire(import.meta.url);
  try {
    return near(PACKAGE) as Providers;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND") throw error;
    return undefined;
  }
}

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
