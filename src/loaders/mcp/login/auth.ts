import { createPrivateKey, type KeyObject } from "node:crypto";
import type { AuthProvider, FetchLike, OAuthTokens } from "@modelcontextprotocol/client";
import { messageOf } from "../../../core/base/errors.ts";
import { createRedactor } from "../../../core/base/redact/redact.ts";
import { defined } from "../../../core/base/values.ts";
import type { Environment } from "../../../core/document/config.ts";
import type { McpAuth } from "../../../core/skill/skill.ts";
import { replaceFile } from "../../../files/files.ts";
import { quote } from "../offer/tools.ts";
import { type AuthEgress, authFetch, challengeError, checkAuthAddress } from "./auth-fetch.ts";
import { logIn } from "./login.ts";
import { type AuthPlaces, loginPath, type Person, readLogin, type StoredLogin } from "./logins.ts";

type Sdk = typeof import("@modelcontextprotocol/client");

/** OAuth 2.1 tokens for one server. They are fetched on demand and redacted in its messages. */
export type Auth = Awaited<ReturnType<typeof openAuth>>;

interface AuthOptions extends AuthPlaces {
  readonly id: string;
  readonly config: McpAuth;
  readonly server: URL;
  readonly env: Environment;
  readonly fetch: typeof fetch;
  readonly signal: AbortSignal;
}

/** Prepares authorization. Throws if the client's secret is missing or could be exposed in transit. */
export async function openAuth(options: AuthOptions) {
  const sdk = await import("@modelcontextprotocol/client");
  const egress = { ...options, issuer: options.config.issuer };
  await checkAuthAddress(options.server, egress);
  const tools = { sdk, egress, fetch: authFetch(egress) };
  const people = { person: options.person, isAsking: false };
  const { config } = options;
  const shared = { ...options, ...tools, people };
  const grant = config.type === "authorization_code" ? loginGrant(shared, config) : clientGrant(shared);
  const seen = new Set<string>();
  let redactor = createRedactor([]);
  const learn = () => {
    const { access_token, refresh_token, id_token } = grant.tokens() ?? {};
    const secrets = [access_token, refresh_token, id_token].filter((secret) => secret !== undefined);
    if (secrets.every((secret) => seen.has(secret))) return;
    for (const secret of secrets) seen.add(secret);
    redactor = createRedactor([...seen].map((value) => ({ name: `token of ${options.id}`, value })));
  };
  let renewing: Promise<void> | undefined;
  const provider: AuthProvider = {
    async token() {
      learn();
      return grant.tokens()?.access_token;
    },
    onUnauthorized({ response }) {
      // Concurrent calls share one renewal, because a refresh token may work only once.
      renewing ??= grant.renew(readChallenge(sdk, response, options.server)).finally(() => {
        renewing = undefined;
      });
      return renewing;
    },
  };
  return {
    provider,
    /** Returns a redactor for all tokens so far. */
    redactor: () => redactor,
    /** Returns true while the user is asked to log in. */
    isAsking: () => people.isAsking,
    /** Prevents further requests to log in. */
    endLogins() {
      people.person = undefined;
    },
  };
}

interface Grant {
  tokens(): OAuthTokens | undefined;
  renew(challenge: Challenge): Promise<void>;
}

interface Challenge {
  readonly resourceMetadataUrl?: URL;
  readonly scope?: string;
  /** True if the token is valid but its scope is too narrow. */
  readonly wantsMore: boolean;
}

function readChallenge(sdk: Sdk, response: Response, server: URL): Challenge {
  const { resourceMetadataUrl, scope } = sdk.extractWWWAuthenticateParams(response);
  const isOwn = resourceMetadataUrl?.origin === server.origin;
  return {
    ...(resourceMetadataUrl && isOwn ? { resourceMetadataUrl } : {}),
    ...defined("scope", scope),
    wantsMore: challengeError(response.headers.get("www-authenticate")) === "insufficient_scope",
  };
}

interface GrantOptions extends Omit<AuthOptions, "fetch"> {
  readonly sdk: Sdk;
  readonly egress: AuthEgress;
  readonly fetch: FetchLike;
  readonly people: { person: Person | undefined; isAsking: boolean };
}

/** Returns the scope to request: the operator's, or else the server's plus the scope of a token that is too narrow. */
function scopeOf({ scopes }: McpAuth, { scope, wantsMore }: Challenge, held = ""): { scope?: string } {
  if (scopes) return { scope: scopes.join(" ") };
  if (scope === undefined || !wantsMore) return defined("scope", scope);
  return { scope: [...new Set([...held.split(" "), ...scope.split(" ")])].filter(Boolean).join(" ") };
}

// ---- client credentials, without a user

function clientGrant({ sdk, config, env, server, fetch }: GrantOptions): Grant {
  const provider = clientProvider(sdk, config, env);
  return {
    tokens: () => provider.tokens(),
    async renew(challenge) {
      const { resourceMetadataUrl } = challenge;
      const asked = {
        ...defined("resourceMetadataUrl", resourceMetadataUrl),
        ...scopeOf(config, challenge, provider.tokens()?.scope),
      };
      await sdk.auth(provider, { serverUrl: server, fetchFn: fetch, ...asked });
    },
  };
}

function clientProvider(sdk: Sdk, config: McpAuth, env: Environment) {
  const { clientId = "", issuer = "" } = config;
  const client = { clientId, expectedIssuer: issuer, clientName: "skillflow" };
  if (config.type === "private_key_jwt") {
    const key = readKey(config.key, heldIn(config.key, env));
    const privateKey = key.export({ format: "jwk" }) as Record<string, unknown>;
    return new sdk.PrivateKeyJwtProvider({ ...client, privateKey, algorithm: algorithmOf(config.key, key) });
  }
  return new sdk.ClientCredentialsProvider({ ...client, clientSecret: heldIn(config.secret ?? "", env) });
}

function heldIn(name: string, env: Environment): string {
  const value = env[name];
  if (value) return value;
  throw new Error(`its auth names ${name}, which is not set`);
}

function readKey(name: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new Error(`${name} does not contain a private key (PEM, without a password)`);
  }
}

function algorithmOf(name: string, { asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): string {
  const curves: Readonly<Record<string, string>> = { prime256v1: "ES256", secp384r1: "ES384", secp521r1: "ES512" };
  const kinds: Readonly<Record<string, string | undefined>> = {
    rsa: "RS256",
    ed25519: "EdDSA",
    ec: curves[details?.namedCurve ?? ""],
  };
  const algorithm = kinds[type ?? ""];
  if (algorithm !== undefined) return algorithm;
  throw new Error(`${name} contains a key of a type that cannot sign tokens (${type})`);
}

// ---- user login

function loginGrant(options: GrantOptions, config: McpAuth & { readonly type: "authorization_code" }): Grant {
  const { sdk, id, env, server, fetch, egress, folder, signal, people } = options;
  const secret = config.secret === undefined ? undefined : heldIn(config.secret, env);
  const client =
    config.clientId === undefined ? undefined : { client_id: config.clientId, ...defined("client_secret", secret) };
  const { issuer = "", clientId = "", scopes = [] } = config;
  const path = folder && loginPath(folder, server.href, JSON.stringify([issuer, clientId, scopes]));
  const stored = () => (path === undefined ? undefined : readLogin(path, server.href));
  let login = stored();
  const keep = async (got: StoredLogin) => {
    login = got;
    if (path !== undefined) await replaceFile(path, `${JSON.stringify(got, null, 2)}\n`);
  };
  return {
    tokens: () => login?.tokens,
    async renew(challenge) {
      const other = stored();
      if (other && other.tokens.access_token !== login?.tokens.access_token) {
        login = other;
        return;
      }
      // A server cannot widen the scope of a login, because the run would stop for the user.
      if (login && challenge.wantsMore)
        throw new Error(
          `it requires more scopes than the login has: name all scopes in its auth, with ${quote(challenge.scope ?? "")}, and log in again`,
        );
      const renewed = login ? await refresh(options, challenge, login) : "there is no login";
      if (typeof renewed !== "string") return keep(renewed);
      if (!people.person) throw new Error(`${renewed}: log in once with a run in a terminal`);
      people.isAsking = true;
      const asking = logIn(sdk, {
        ...{ id, server, fetch, client, signal, person: people.person },
        check: (address) => checkAuthAddress(address, egress),
        checkIssuer(named) {
          const [wanted = "", given] = [config.issuer, named].map((text) => text?.replace(/\/$/, ""));
          if (config.issuer === undefined || wanted === given) return;
          throw new Error(`it names the authorization server ${named}, but its auth names ${config.issuer}`);
        },
        scope: scopeOf(config, challenge).scope,
        resourceMetadataUrl: challenge.resourceMetadataUrl,
      });
      await asking.then(keep).finally(() => {
        people.isAsking = false;
      });
    },
  };
}

/** Refreshes a login. Returns a message if that fails. */
async function refresh(
  { sdk, server, fetch }: GrantOptions,
  { resourceMetadataUrl }: Challenge,
  login: StoredLogin,
): Promise<StoredLogin | string> {
  const { client, issuer, resource, tokens } = login;
  if (tokens.refresh_token === undefined) return "the login has expired";
  try {
    const place = { ...defined("resourceMetadataUrl", resourceMetadataUrl), fetchFn: fetch };
    const found = await sdk.discoverOAuthServerInfo(server, place);
    const metadata = found.authorizationServerMetadata;
    if ((metadata?.issuer ?? String(found.authorizationServerUrl)) !== issuer) {
      return "it names another authorization server than the login";
    }
    const refreshed = await sdk.refreshAuthorization(found.authorizationServerUrl, {
      ...defined("metadata", metadata),
      clientInformation: client,
      refreshToken: tokens.refresh_token,
      ...(resource === undefined ? {} : { resource: new URL(resource) }),
      fetchFn: fetch,
    });
    return { ...login, tokens: refreshed };
  } catch (error) {
    return `the login has expired (${messageOf(error)})`;
  }
}
