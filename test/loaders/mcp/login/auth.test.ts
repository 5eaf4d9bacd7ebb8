import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { McpAuth } from "../../../../src/core/skill/skill.ts";
import { type McpConnection, type McpOptions, openMcp } from "../../../../src/loaders/mcp/client.ts";
import { checkAuthAddress } from "../../../../src/loaders/mcp/login/auth-fetch.ts";
import { followProcess } from "../../../../src/sandbox/processes.ts";
import { toolContext } from "../../../../src/testing.ts";
import { type OAuthOptions, type OAuthRig, oauthRig } from "../../../services/oauth.ts";

/** Servers that require tokens: OAuth 2.1 as MCP uses it. */

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function rigOf(options: OAuthOptions = {}): Promise<OAuthRig> {
  const rig = await oauthRig(options);
  cleanups.push(rig.close);
  return rig;
}

function folderOf(): string {
  const folder = mkdtempSync(join(tmpdir(), "auth-test-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "mcp-logins");
}

const SECRET = "s3cret-of-the-client";
const CLIENT = { id: "robot", secret: SECRET };

interface Opening {
  readonly auth: McpAuth;
  readonly env?: Readonly<Record<string, string>>;
  readonly folder?: string;
  /** The user's action with the address at the terminal. */
  readonly person?: (address: string) => unknown;
  readonly options?: Partial<McpOptions>;
}

async function open(rig: Pick<OAuthRig, "url">, { auth, env = {}, folder, person, options = {} }: Opening) {
  const connection = await openMcp({
    id: "served",
    config: { url: rig.url, auth },
    env,
    cwd: tmpdir(),
    fetch,
    processes: {
      self: { pid: process.pid, host: "here", started: "1" },
      kill: () => undefined,
      isAlive: () => true,
      follow: followProcess,
    },
    auth: { folder, person: person && { tell: (_, address) => void person(address) } },
    onWarning: () => undefined,
    ...options,
  });
  cleanups.push(connection.close);
  return connection;
}

const look = ({ tools: [tool] }: McpConnection) => tool?.handler({} as never, toolContext());
const robotAt = (rig: OAuthRig): McpAuth => ({
  type: "client_credentials",
  issuer: rig.issuer,
  clientId: "robot",
  secret: "ROBOT_SECRET",
});
const ENV = { ROBOT_SECRET: SECRET };

describe("a client with a secret", () => {
  it("gets a token when the server requires one, for this server, and a new one when it has expired", async () => {
    const rig = await rigOf({ clients: [CLIENT] });
    const connection = await open(rig, { auth: robotAt(rig), env: ENV });
    expect(await look(connection)).toBe("seen");
    rig.expire();
    expect(await look(connection)).toBe("seen");
    expect([rig.grants, rig.refusals]).toEqual([["client_credentials", "client_credentials"], []]);
    expect(rig.mcp.requests.every(({ body }) => !body.includes(SECRET))).toBe(true);
  });

  it("requests its own scopes, otherwise those that the server requires", async () => {
    const wants = { clients: [CLIENT], challenge: (own: string) => `${own}, scope="files:all"` };
    const rig = await rigOf(wants);
    await open(rig, { auth: robotAt(rig), env: ENV });
    await open(rig, { auth: { ...robotAt(rig), scopes: ["files:read"] }, env: ENV });
    const asked = rig.as.requests
      .filter(({ url }) => url === "/token")
      .map(({ body }) => new URLSearchParams(body).get("scope"));
    expect(asked).toEqual(["files:all", "files:read"]);
  });

  it("gets a wider token if a call requires more", async () => {
    const challenge = (own: string) => `${own}, scope="files:read"`;
    const rig = await rigOf({ clients: [CLIENT], scope: "files:write", challenge });
    const connection = await open(rig, { auth: robotAt(rig), env: ENV });
    expect(await look(connection)).toBe("seen");
    const asked = rig.as.requests.filter(({ url }) => url === "/token");
    const scopes = asked.map(({ body }) => new URLSearchParams(body).get("scope"));
    expect(scopes).toEqual(["files:read", "files:read files:write"]);
  });

  it("sends its secret to the issuer alone, whichever server the MCP server names", async () => {
    const [rig, other] = [await rigOf({ clients: [CLIENT] }), await rigOf({ clients: [CLIENT] })];
    const auth = { ...robotAt(rig), issuer: other.issuer } as McpAuth;
    await expect(open(rig, { auth, env: ENV })).rejects.toThrow(/authorization server|issuer/i);
    expect([...rig.as.requests, ...other.as.requests].filter(({ url }) => url === "/token")).toEqual([]);
  });

  it("reports errors without secrets and without output on the console", async () => {
    const said = vi.spyOn(console, "warn");
    const rig = await rigOf({ clients: [CLIENT] });
    await expect(open(rig, { auth: robotAt(rig) })).rejects.toThrow("its auth names ROBOT_SECRET, which is not set");
    const wrong = open(rig, { auth: robotAt(rig), env: { ROBOT_SECRET: "wrong" } });
    await expect(wrong).rejects.toThrow(/answers HTTP 401 \(invalid_client: wrong secret\)/);
    expect(said).not.toHaveBeenCalled();
    said.mockRestore();
  });

  it("is refused for a command server, and if its config is untrusted", async () => {
    const rig = await rigOf({ clients: [CLIENT] });
    const config = { command: "node", auth: robotAt(rig) };
    await expect(open(rig, { auth: robotAt(rig), env: ENV, options: { config } })).rejects.toThrow(
      "this one is a command",
    );
    const bare = openMcp({
      id: "served",
      config: { url: rig.url, auth: robotAt(rig) },
      env: ENV,
      cwd: tmpdir(),
      fetch,
      processes: {} as never,
      onWarning: () => undefined,
    });
    await expect(bare).rejects.toThrow("auth is only allowed in your own config file");
    expect(rig.mcp.requests).toEqual([]);
  });

  it("removes its tokens from the server's output", async () => {
    const tokens: string[] = [];
    const rig = await rigOf({
      clients: [CLIENT],
      answers: { "tools/call": () => ({ content: [{ type: "text", text: `you are ${tokens.at(-1)}` }] }) },
    });
    const connection = await open(rig, { auth: robotAt(rig), env: ENV });
    for (const { headers } of rig.mcp.requests) tokens.push(String(headers.authorization).slice("Bearer ".length));
    expect(tokens.at(-1)).toMatch(/^access-/);
    expect(await look(connection)).toBe("you are [redacted:token of served]");
  });
});

describe("a client with a key", () => {
  it.each([
    ["ec", generateKeyPairSync("ec", { namedCurve: "P-256" })],
    ["rsa", generateKeyPairSync("rsa", { modulusLength: 2048 })],
    ["ed25519", generateKeyPairSync("ed25519")],
  ] as const)("signs its own assertion: %s", async (_kind, { privateKey, publicKey }) => {
    const client = { id: "signer", publicKey: publicKey.export({ type: "spki", format: "pem" }).toString() };
    const rig = await rigOf({ clients: [client] });
    const auth = { type: "private_key_jwt", issuer: rig.issuer, clientId: "signer", key: "SIGNER_KEY" } as const;
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    expect(await look(await open(rig, { auth, env: { SIGNER_KEY: pem } }))).toBe("seen");
    expect([rig.grants, rig.refusals]).toEqual([["client_credentials"], []]);
    await expect(open(rig, { auth, env: { SIGNER_KEY: "no key" } })).rejects.toThrow(
      "SIGNER_KEY does not contain a private key",
    );
  });
});

describe("a user's login", () => {
  const HUMAN: McpAuth = { type: "authorization_code", clientId: "desk" };
  const DESK = { clients: [{ id: "desk" }] };

  it("uses the browser, is stored for its owner alone, and is used and renewed without a user", async () => {
    const rig = await rigOf(DESK);
    const folder = folderOf();
    const shown: string[] = [];
    const person = (address: string) => {
      shown.push(address);
      return rig.browse(address);
    };
    expect(await look(await open(rig, { auth: HUMAN, folder, person }))).toBe("seen");
    const [file = ""] = readdirSync(folder);
    expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const again = await open(rig, { auth: HUMAN, folder });
    rig.expire();
    expect(await Promise.all([look(again), look(again)])).toEqual(["seen", "seen"]);
    expect([rig.grants, rig.refusals, shown.length]).toEqual([["authorization_code", "refresh_token"], [], 1]);
    rig.expire();
    expect(await look(await open(rig, { auth: HUMAN, folder }))).toBe("seen");
  });

  it("registers a client if there is none, and stores that with the login", async () => {
    const rig = await rigOf({ registers: true });
    const folder = folderOf();
    const auth: McpAuth = { type: "authorization_code" };
    await open(rig, { auth, folder, person: rig.browse });
    rig.expire();
    expect(await look(await open(rig, { auth, folder }))).toBe("seen");
    expect([rig.grants, rig.refusals]).toEqual([["authorization_code", "refresh_token"], []]);
  });

  it("is requested on a terminal alone, and again after it has expired", async () => {
    const rig = await rigOf(DESK);
    const folder = folderOf();
    await expect(open(rig, { auth: HUMAN, folder })).rejects.toThrow(
      "there is no login: log in once with a run in a terminal",
    );
    const connection = await open(rig, { auth: HUMAN, folder, person: rig.browse });
    rig.revoke();
    await expect(look(connection)).rejects.toThrow(/the login has expired \(.*invalid_grant.*\): log in once/);
    expect(await look(await open(rig, { auth: HUMAN, folder, person: rig.browse }))).toBe("seen");
    expect(rig.grants).toEqual(["authorization_code", "authorization_code"]);
  });

  it("accepts only the answer to its own request", async () => {
    const rig = await rigOf(DESK);
    const answers: number[] = [];
    const person = async (address: string) => {
      const forged = new URL(new URL(address).searchParams.get("redirect_uri") ?? "");
      for (const query of ["?code=evil&state=guessed", "?code=evil", "?error=access_denied"])
        answers.push((await fetch(new URL(query, forged))).status);
      answers.push((await fetch(new URL("/other", forged))).status);
      const wrong = await rig.browse(address, (back) => back.searchParams.set("state", "stolen"));
      answers.push(wrong.status, (await rig.browse(address)).status);
    };
    expect(await look(await open(rig, { auth: HUMAN, person }))).toBe("seen");
    expect(answers).toEqual([400, 400, 400, 404, 400, 200]);
    expect(rig.grants).toEqual(["authorization_code"]);
  });

  it("fails if the user is refused, or another authorization server answers", async () => {
    const rig = await rigOf(DESK);
    const refusing = (address: string) =>
      rig.browse(address, (back) => {
        back.searchParams.delete("code");
        back.searchParams.set("error", "access_denied");
      });
    await expect(open(rig, { auth: HUMAN, person: refusing })).rejects.toThrow("the login failed: access_denied");
    const mixing = (address: string) =>
      rig.browse(address, (back) => back.searchParams.set("iss", "https://evil.example"));
    await expect(open(rig, { auth: HUMAN, person: mixing })).rejects.toThrow(/issuer/i);
    expect(rig.grants).toEqual([]);
  });

  it("is refused if codes are not checked, or the server is not the expected one", async () => {
    const weak = await rigOf({ ...DESK, metadata: ({ code_challenge_methods_supported: _, ...rest }) => rest });
    await expect(open(weak, { auth: HUMAN, person: weak.browse })).rejects.toThrow("PKCE with S256");
    const rig = await rigOf(DESK);
    const expecting = { ...HUMAN, issuer: weak.issuer } as McpAuth;
    await expect(open(rig, { auth: expecting, person: rig.browse })).rejects.toThrow(
      "it names the authorization server",
    );
    expect(rig.as.requests.filter(({ url }) => url.startsWith("/authorize"))).toEqual([]);
  });

  it("is widened by its owner alone", async () => {
    const rig = await rigOf({ ...DESK, scope: "files:write" });
    const folder = folderOf();
    const narrow = await open(rig, { auth: HUMAN, folder, person: rig.browse });
    await expect(look(narrow)).rejects.toThrow(/name all scopes in its auth, with "files:write"/);
    const wide = { ...HUMAN, scopes: ["files:write"] } as McpAuth;
    expect(await look(await open(rig, { auth: wide, folder, person: rig.browse }))).toBe("seen");
    expect(rig.grants).toEqual(["authorization_code", "authorization_code"]);
  });

  it("of another server is never shown to this one", async () => {
    const [one, two] = [await rigOf(DESK), await rigOf(DESK)];
    const folder = folderOf();
    await open(one, { auth: HUMAN, folder, person: one.browse });
    const [file = ""] = readdirSync(folder);
    const kept = readFileSync(join(folder, file), "utf8");
    await open(two, { auth: HUMAN, folder, person: two.browse });
    const [other = ""] = readdirSync(folder).filter((name) => name !== file);
    writeFileSync(join(folder, other), kept);
    await expect(open(two, { auth: HUMAN, folder })).rejects.toThrow("there is no login");
    const { access_token } = JSON.parse(kept).tokens;
    expect(two.mcp.requests.some(({ headers }) => String(headers.authorization).includes(access_token))).toBe(false);
  });
});

describe("the authorization server that a server names", () => {
  const server = new URL("https://mcp.example.com/mcp");
  const issuer = "https://10.0.0.7:8443/tenant";

  it.each([
    ["http://auth.example.com/token", "it is not https"],
    ["http://127.0.0.1:9/token", "it is not https"],
    ["https://127.0.0.1/token", "private address"],
    ["https://169.254.169.254/latest/meta-data", "private address"],
    ["https://[::1]/token", "private address"],
    ["https://localhost/token", "private address"],
    ["https://10.0.0.8/token", "private address"],
    ["https://user:pass@auth.example.com/token", "user name or password"],
    ["file:///etc/passwd", "it is not https"],
  ])("is refused at an unsafe place: %s", async (address, why) => {
    await expect(checkAuthAddress(new URL(address), { server, issuer })).rejects.toThrow(why);
  });

  it.each(["https://10.0.0.7:8443/token", "https://mcp.example.com/authorize", "https://93.184.216.34/token"])(
    "is accepted where the operator or the public network is: %s",
    async (address) => {
      await expect(checkAuthAddress(new URL(address), { server, issuer })).resolves.toBeUndefined();
    },
  );

  it("is not read from another host", async () => {
    const [rig, other] = [await rigOf({ clients: [CLIENT] }), await rigOf()];
    const led = await rigOf({
      clients: [CLIENT],
      challenge: () => `Bearer resource_metadata="${other.mcp.url}/steal"`,
    });
    expect(await look(await open(led, { auth: robotAt(led), env: ENV }))).toBe("seen");
    expect([...other.mcp.requests, ...rig.mcp.requests]).toEqual([]);
  });

  it("gets no token for another server's resource", async () => {
    const rig = await rigOf({
      clients: [CLIENT],
      resource: (own) => ({ ...own, resource: "https://victim.example/mcp" }),
    });
    await expect(open(rig, { auth: robotAt(rig), env: ENV })).rejects.toThrow("victim.example");
    expect(rig.grants).toEqual([]);
  });
});
