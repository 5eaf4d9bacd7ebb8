import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { FetchLike, OAuthClientMetadata, OAuthClientProvider } from "@modelcontextprotocol/client";
import { defined } from "../../../core/base/values.ts";
import { unlessAborted } from "../../text/bounded.ts";
import type { Person, StoredLogin } from "./logins.ts";

type Sdk = typeof import("@modelcontextprotocol/client");

interface LoginOptions {
  readonly id: string;
  readonly server: URL;
  readonly fetch: FetchLike;
  readonly person: Person;
  /** Throws if the user must not be sent to the URL. */
  readonly check: (address: URL) => Promise<void>;
  readonly checkIssuer: (issuer: string) => void;
  /** Registered client. If undefined, a client is registered. */
  readonly client: StoredLogin["client"] | undefined;
  readonly scope: string | undefined;
  readonly resourceMetadataUrl: URL | undefined;
  readonly signal: AbortSignal;
}

const PATIENCE_MS = 5 * 60_000;

/** Logs in by the authorization code flow with PKCE. The user's browser returns the code to this machine. */
export async function logIn(sdk: Sdk, options: LoginOptions): Promise<StoredLogin> {
  const state = randomBytes(32).toString("base64url");
  const listener = await listenForCode(state);
  try {
    const attempt = attemptAt(listener.address, state, options);
    const { server, fetch, scope, resourceMetadataUrl, signal } = options;
    const asked = {
      serverUrl: server,
      fetchFn: fetch,
      ...defined("scope", scope),
      ...defined("resourceMetadataUrl", resourceMetadataUrl),
    };
    await sdk.auth(attempt.provider, asked);
    const answer = await listener.code(AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]));
    await sdk.auth(attempt.provider, { ...asked, ...answer });
    return attempt.result();
  } finally {
    listener.close();
  }
}

/** Creates the provider through which the SDK reads and stores the state of the login. */
function attemptAt(redirectUrl: string, state: string, { id, server, ...options }: LoginOptions) {
  const found: Partial<StoredLogin> = { url: server.href, ...defined("client", options.client) };
  let discovered: Parameters<NonNullable<OAuthClientProvider["saveDiscoveryState"]>>[0] | undefined;
  let verifier = "";
  const clientMetadata: OAuthClientMetadata = {
    client_name: "skillflow",
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    ...defined("scope", options.scope),
  };
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata,
    state: () => state,
    clientInformation: () => found.client && { ...found.client, ...defined("issuer", found.issuer) },
    saveClientInformation({ client_id, client_secret }) {
      found.client = { client_id, ...defined("client_secret", client_secret) };
    },
    tokens: () => undefined,
    saveTokens(tokens) {
      found.tokens = tokens;
    },
    async redirectToAuthorization(address) {
      const methods = discovered?.authorizationServerMetadata?.code_challenge_methods_supported;
      if (discovered?.authorizationServerMetadata && !methods?.includes("S256")) throw new Error(NO_PKCE);
      await options.check(address);
      options.person.tell(id, address.href);
    },
    saveCodeVerifier(text) {
      verifier = text;
    },
    codeVerifier: () => verifier,
    saveDiscoveryState(discovery) {
      discovered = discovery;
    },
    discoveryState: () => discovered,
    saveAuthorizationServerUrl(issuer) {
      options.checkIssuer(issuer);
      found.issuer = issuer;
    },
    saveResourceUrl(resource) {
      found.resource = String(resource);
    },
  };
  const result = () => {
    if (!found.tokens) throw new Error("its authorization server returned no token");
    return found as StoredLogin;
  };
  return { provider, result };
}

const NO_PKCE = "its authorization server does not announce PKCE with S256, so no login is started";

/** Listens for the redirect of the user's browser (RFC 8252). Ignores requests without our state. */
async function listenForCode(state: string) {
  let answered: (params: URLSearchParams) => void = () => undefined;
  const answer = new Promise<URLSearchParams>((resolve) => {
    answered = resolve;
  });
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
    if (request.method !== "GET" || pathname !== PATH) return say(response, 404, "There is nothing here.");
    if (searchParams.get("state") !== state) return say(response, 400, "This is not the login that was started.");
    say(response, 200, "skillflow continues in the terminal. You can close this window.");
    answered(searchParams);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${port}${PATH}`,
    /** Returns the code of the request with our state. Rejects with the authorization server's error. */
    async code(signal: AbortSignal) {
      const params = await unlessAborted(answer, signal).catch((error: unknown) => {
        throw error instanceof Error && error.name === "TimeoutError" ? new Error("no login within 5 min") : error;
      });
      const code = params.get("code");
      const iss = params.get("iss");
      if (code !== null) return { authorizationCode: code, ...(iss === null ? {} : { iss }) };
      const why = [params.get("error"), params.get("error_description")].filter(Boolean).join(": ");
      throw new Error(`the login failed: ${why.slice(0, 300) || "there is no code in the answer"}`);
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const PATH = "/callback";

function say(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" }).end(`${text}\n`);
}
