import { createHash, createPublicKey, randomBytes, verify } from "node:crypto";
import { type Loopback, type LoopbackRequest, sendJson, startLoopback } from "../../src/testing.ts";
import { type Answers, httpServer } from "./mcp.ts";

/** An MCP server that requires tokens, and its authorization server, which enforces OAuth 2.1. */

export interface Client {
  readonly id: string;
  readonly secret?: string;
  /** PEM of the private key, for a client that signs. */
  readonly publicKey?: string;
}

export interface OAuthRig {
  readonly mcp: Loopback;
  readonly url: string;
  readonly as: Loopback;
  readonly issuer: string;
  /** Reasons of the authorization server's refusals. */
  readonly refusals: string[];
  /** The grants that it issued, in order. */
  readonly grants: string[];
  /** Invalidates every current token. */
  expire(): void;
  /** Refresh tokens too. */
  revoke(): void;
  /** Follows an address as a user's browser would, and returns the callback's response. */
  browse(address: string, change?: (back: URL) => void): Promise<Response>;
  close(): Promise<void>;
}

export interface OAuthOptions {
  readonly clients?: readonly Client[];
  readonly answers?: Answers;
  /** If undefined, clients register. */
  readonly registers?: boolean;
  readonly metadata?: (own: Readonly<Record<string, unknown>>) => object;
  readonly challenge?: (own: string) => string;
  readonly resource?: (own: object) => object;
  /** Scope that tools require, in addition to authentication. */
  readonly scope?: string;
}

const METADATA = "/.well-known/oauth-authorization-server";

export async function oauthRig(options: OAuthOptions = {}): Promise<OAuthRig> {
  const refusals: string[] = [];
  const grants: string[] = [];
  const access = new Map<string, string>();
  const refresh = new Map<string, string>();
  const codes = new Map<string, URLSearchParams>();
  const clients = new Map((options.clients ?? []).map((client) => [client.id, client]));

  const as: Loopback = await startLoopback((request, response) => {
    const url = new URL(request.url, as.url);
    const refuse = (error: string, why: string, status = 400) => {
      refusals.push(`${error}: ${why}`);
      sendJson(response, status, { error, error_description: why });
    };
    if (url.pathname === METADATA) {
      const own = {
        issuer: as.url,
        authorization_endpoint: `${as.url}/authorize`,
        token_endpoint: `${as.url}/token`,
        ...(options.registers ? { registration_endpoint: `${as.url}/register` } : {}),
        response_types_supported: ["code"],
        grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["client_secret_basic", "private_key_jwt", "none"],
        authorization_response_iss_parameter_supported: true,
      };
      return sendJson(response, 200, options.metadata?.(own) ?? own);
    }
    if (url.pathname === "/register" && options.registers) {
      const id = `registered-${clients.size}`;
      clients.set(id, { id });
      return sendJson(response, 201, { ...JSON.parse(request.body), client_id: id });
    }
    if (url.pathname === "/authorize") {
      const { searchParams: asked } = url;
      if (!clients.has(asked.get("client_id") ?? "")) return refuse("invalid_client", "unknown");
      if (asked.get("code_challenge_method") !== "S256" || !asked.get("code_challenge"))
        return refuse("invalid_request", "no PKCE");
      if (asked.get("resource") !== resourceUrl()) return refuse("invalid_target", String(asked.get("resource")));
      if (!asked.get("state")) return refuse("invalid_request", "no state");
      const code = randomBytes(8).toString("hex");
      codes.set(code, asked);
      const back = new URL(asked.get("redirect_uri") ?? "");
      for (const [key, value] of [
        ["code", code],
        ["state", asked.get("state") ?? ""],
        ["iss", as.url],
      ] as const)
        back.searchParams.set(key, value);
      return void response.writeHead(302, { location: back.href }).end();
    }
    if (url.pathname !== "/token" || request.method !== "POST") return sendJson(response, 404, {});
    const body = new URLSearchParams(request.body);
    const client = authenticated(request, body, clients, as.url);
    if (typeof client === "string") return refuse("invalid_client", client, 401);
    if (body.get("resource") !== resourceUrl()) return refuse("invalid_target", String(body.get("resource")));
    const grant = body.get("grant_type") ?? "";
    let scope = body.get("scope") ?? "";
    if (grant === "authorization_code") {
      const asked = codes.get(body.get("code") ?? "");
      codes.delete(body.get("code") ?? "");
      if (!asked || asked.get("client_id") !== client.id) return refuse("invalid_grant", "no such code");
      if (asked.get("redirect_uri") !== body.get("redirect_uri"))
        return refuse("invalid_grant", "another redirect_uri");
      const challenge = createHash("sha256")
        .update(body.get("code_verifier") ?? "")
        .digest("base64url");
      if (challenge !== asked.get("code_challenge")) return refuse("invalid_grant", "PKCE");
      scope = asked.get("scope") ?? "";
    } else if (grant === "refresh_token") {
      const token = body.get("refresh_token") ?? "";
      if (refresh.get(token) !== client.id) return refuse("invalid_grant", "no such refresh token");
      refresh.delete(token);
    } else if (grant !== "client_credentials" || !(client.secret || client.publicKey)) {
      return refuse("unsupported_grant_type", grant);
    }
    grants.push(grant);
    const token = `access-${randomBytes(16).toString("hex")}`;
    access.set(token, scope);
    const again = `refresh-${randomBytes(16).toString("hex")}`;
    if (grant !== "client_credentials") refresh.set(again, client.id);
    sendJson(response, 200, {
      access_token: token,
      token_type: "Bearer",
      expires_in: 3600,
      ...(scope ? { scope } : {}),
      ...(grant === "client_credentials" ? {} : { refresh_token: again }),
    });
  });

  const mcp: Loopback = await httpServer(options.answers ?? {}, (request, response) => {
    if (request.url.startsWith("/.well-known/oauth-protected-resource")) {
      const own = { resource: resourceUrl(), authorization_servers: [as.url] };
      sendJson(response, 200, options.resource?.(own) ?? own);
      return true;
    }
    const token = /^Bearer (.+)$/.exec(String(request.headers.authorization))?.[1] ?? "";
    const own = `Bearer resource_metadata="${mcp.url}/.well-known/oauth-protected-resource/mcp"`;
    const scope = access.get(token);
    if (scope === undefined) {
      sendJson(response, 401, {}, { "www-authenticate": options.challenge?.(own) ?? own });
      return true;
    }
    const isCall = request.method === "POST" && JSON.parse(request.body).method === "tools/call";
    if (options.scope === undefined || !isCall || scope.split(" ").includes(options.scope)) return false;
    sendJson(response, 403, {}, { "www-authenticate": `${own}, error="insufficient_scope", scope="${options.scope}"` });
    return true;
  });
  const resourceUrl = () => `${mcp.url}/mcp`;
  return {
    mcp,
    url: `${mcp.url}/mcp`,
    as,
    issuer: as.url,
    refusals,
    grants,
    expire: () => access.clear(),
    revoke() {
      access.clear();
      refresh.clear();
    },
    async browse(address, change = () => undefined) {
      const there = await fetch(address, { redirect: "manual" });
      const location = there.headers.get("location");
      if (location === null) return there;
      const back = new URL(location);
      change(back);
      return fetch(back);
    },
    close: async () => {
      await Promise.all([as.close(), mcp.close()]);
    },
  };
}

/** The client that a request is proven to come from, or the reason why it is not. */
function authenticated(
  { headers }: LoopbackRequest,
  body: URLSearchParams,
  clients: ReadonlyMap<string, Client>,
  issuer: string,
): Client | string {
  const basic = /^Basic (.+)$/.exec(String(headers.authorization))?.[1];
  const [id = "", secret = ""] = basic ? Buffer.from(basic, "base64").toString().split(":") : [];
  if (basic) {
    const client = clients.get(id);
    return client?.secret !== undefined && client.secret === secret ? client : "wrong secret";
  }
  const assertion = body.get("client_assertion");
  if (assertion !== null) {
    const [head = "", payload = "", signature = ""] = assertion.split(".");
    const { alg } = JSON.parse(Buffer.from(head, "base64url").toString());
    const { iss, sub, aud, exp } = JSON.parse(Buffer.from(payload, "base64url").toString());
    const client = clients.get(iss);
    if (!client?.publicKey || iss !== sub || aud !== issuer || exp * 1000 < Date.now()) return "wrong claims";
    const key = createPublicKey(client.publicKey);
    const how = alg === "ES256" ? { key, dsaEncoding: "ieee-p1363" as const } : key;
    const isGood = verify(
      alg === "EdDSA" ? null : "sha256",
      Buffer.from(`${head}.${payload}`),
      how,
      Buffer.from(signature, "base64url"),
    );
    return isGood ? client : "wrong signature";
  }
  const client = clients.get(body.get("client_id") ?? "");
  return client && !client.secret && !client.publicKey ? client : "no proof";
}
