import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod";
import { sha256 } from "../../../core/base/sha256.ts";
import { type Fitting, lazy, parseJson } from "../../../core/base/values.ts";
import type { Environment } from "../../../core/document/config.ts";
import { readPlainNow } from "../../../files/files.ts";
import { isInCheckout, userConfigPath } from "../../documents/project-config.ts";

export interface Person {
  tell(id: string, address: string): void;
}

export interface AuthPlaces {
  /** Folder of saved logins. If undefined, logins are kept in memory only. */
  readonly folder: string | undefined;
  readonly person: Person | undefined;
}

const loginSchema = lazy(() =>
  z.object({
    url: z.string(),
    /** Authorization server. Tokens are sent only to it and to the MCP server. */
    issuer: z.string(),
    client: z.object({ client_id: z.string(), client_secret: z.string().optional() }),
    resource: z.string().optional(),
    tokens: z.object({
      access_token: z.string(),
      token_type: z.string(),
      refresh_token: z.string().optional(),
      expires_in: z.number().optional(),
      scope: z.string().optional(),
    }),
  }),
);
export type StoredLogin = Fitting<typeof loginSchema>;

/** Returns the folder of saved logins, next to the user's own config file. Undefined if that is in the checkout. */
export function loginFolder(env: Environment, cwd: string): string | undefined {
  const config = userConfigPath(env);
  const folder = config && join(dirname(config), "mcp-logins");
  return folder === undefined || isInCheckout(folder, cwd) ? undefined : folder;
}

/** Returns the path of a login: one file per server and client. */
export function loginPath(folder: string, url: string, client: string): string {
  return join(folder, `${sha256(JSON.stringify([url, client])).slice(0, 32)}.json`);
}

/** Reads a saved login. Returns undefined if it is missing or invalid, so that the user logs in again. */
export function readLogin(path: string, url: string): StoredLogin | undefined {
  const checked = existsSync(path)
    ? loginSchema().safeParse(parseJson(readPlainNow(path).toString("utf8")))
    : undefined;
  return checked?.data?.url === url ? checked.data : undefined;
}
