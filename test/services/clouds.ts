import { createHash, createHmac } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { type Loopback, type LoopbackRequest, sendJson, startLoopback } from "../../src/testing.ts";
import { type AnthropicRequest, startAnthropic } from "./anthropic.ts";
import { type ChatRequest, startChat } from "./chat.ts";
import type { ModelService, Script } from "./script.ts";

/** The clouds that serve the vendors' models: their paths, credentials and framing around the vendors' own APIs. */

export const AWS = {
  AWS_REGION: "eu-west-1",
  AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
  AWS_SECRET_ACCESS_KEY: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  AWS_SESSION_TOKEN: "the-session",
};

/** Amazon Bedrock: signed requests, and answers in AWS's binary frames. */
export function startBedrock(script: Script<AnthropicRequest>): Promise<ModelService<AnthropicRequest>> {
  return startFront(startAnthropic(script), async (request, inner, response) => {
    if (!isSigned(request)) return sendJson(response, 403, { message: "The request signature does not match." });
    const [, model] = /^\/model\/([^/]+)\/invoke-with-response-stream$/.exec(request.url) ?? [];
    const { anthropic_version: version, ...body } = JSON.parse(request.body);
    if (model === undefined || version === undefined || "model" in body || "stream" in body) {
      return sendJson(response, 404, { message: `no operation ${request.url}` });
    }
    await forward(askClaude(inner, { ...body, model: decodeURIComponent(model) }), response, frames);
  });
}

/** Vertex AI: a Google token, a path that names project, region and model, and the vendor's own answers. */
export function startVertex(script: Script<AnthropicRequest>): Promise<ModelService<AnthropicRequest>> {
  return startFront(
    startAnthropic(script),
    async (request, inner, response) => {
      if (request.headers.authorization !== `Bearer ${GOOGLE_TOKEN}`)
        return sendJson(response, 401, { error: "no token" });
      const [, model] =
        /^\/v1\/projects\/the-project\/locations\/us-east5\/publishers\/anthropic\/models\/([^/]+):streamRawPredict$/.exec(
          request.url,
        ) ?? [];
      const { anthropic_version: version, ...body } = JSON.parse(request.body);
      if (model === undefined || version === undefined || "model" in body) {
        return sendJson(response, 404, { error: { message: `no route ${request.url}` } });
      }
      await forward(askClaude(inner, { ...body, model: decodeURIComponent(model) }), response);
    },
    "/v1",
  );
}

/** Azure OpenAI: the deployment and the version of the API in the address, and a key in a separate header. */
export function startAzure(script: Script<ChatRequest>): Promise<ModelService<ChatRequest>> {
  return startFront(startChat(script), async (request, inner, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://azure");
    const [, deployment] = /^\/openai\/deployments\/(.+)\/chat\/completions$/.exec(pathname) ?? [];
    const isKnown =
      request.headers["api-key"] === AZURE_KEY || request.headers.authorization === `Bearer ${AZURE_TOKEN}`;
    if (!isKnown) return sendJson(response, 401, { error: { code: "401", message: "Access denied" } });
    if (deployment !== JSON.parse(request.body).model || searchParams.get("api-version") !== "2024-10-21") {
      return sendJson(response, 404, { error: { code: "404", message: `Resource not found: ${request.url}` } });
    }
    const headers = { "content-type": "application/json", authorization: "Bearer x" };
    await forward(fetch(`${inner.url}/chat/completions`, { method: "POST", headers, body: request.body }), response);
  });
}

export const AZURE_KEY = "sk-test-0123456789";
export const AZURE_TOKEN = "azure-token-0123456789";
const GOOGLE_TOKEN = "ya29.google-token";

/** Google's exchange of a job's identity for a token. */
export function startGoogleTokens(): Promise<Loopback> {
  return startLoopback(({ url, body }, response) => {
    const isAsked = url === "/token" && new URLSearchParams(body).get("subject_token") === "subject-token";
    return sendJson(response, 200, {
      access_token: isAsked ? GOOGLE_TOKEN : "",
      token_type: "Bearer",
      expires_in: 3600,
    });
  });
}

/** A file of application default credentials whose token comes from the service at `url`. */
export function googleCredentials(url: string): string {
  const folder = mkdtempSync(join(tmpdir(), "google-"));
  writeFileSync(join(folder, "subject"), "subject-token");
  const file = join(folder, "credentials.json");
  const source = {
    type: "external_account",
    audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_url: new URL("/token", url).href,
    credential_source: { file: join(folder, "subject") },
  };
  writeFileSync(file, JSON.stringify(source));
  return file;
}

type Handle = (request: LoopbackRequest, inner: ModelService, response: ServerResponse) => void | Promise<void>;

async function startFront<Body>(
  starting: Promise<ModelService<Body>>,
  handle: Handle,
  base = "",
): Promise<ModelService<Body>> {
  const inner = await starting;
  const front: Loopback = await startLoopback((request, response) => handle(request, inner, response));
  return {
    ...inner,
    url: front.url + base,
    async close() {
      await inner.close();
      await front.close();
    },
  };
}

function askClaude({ url }: ModelService, body: object): Promise<Response> {
  const headers = { "content-type": "application/json", "x-api-key": "k", "anthropic-version": "2023-06-01" };
  return fetch(`${url}/v1/messages`, { method: "POST", headers, body: JSON.stringify({ ...body, stream: true }) });
}

type Reframe = (blocks: readonly string[]) => Uint8Array;

/** Passes an answer on as it arrives, broken connections included. */
async function forward(asking: Promise<Response>, response: ServerResponse, reframe?: Reframe): Promise<void> {
  try {
    const answer = await asking;
    const type = answer.headers.get("content-type") ?? "";
    const isFramed = reframe !== undefined && type.startsWith("text/event-stream");
    const passed = [...answer.headers].filter(([name]) => name.startsWith("retry-after"));
    const framed = isFramed ? "application/vnd.amazon.eventstream" : type;
    response.writeHead(answer.status, { "content-type": framed, ...Object.fromEntries(passed) });
    let rest = "";
    for await (const chunk of answer.body ?? []) {
      if (!isFramed) response.write(chunk);
      if (!isFramed) continue;
      const blocks = (rest + Buffer.from(chunk).toString()).split("\n\n");
      rest = blocks.pop() ?? "";
      response.write(reframe(blocks));
    }
    response.end();
  } catch {
    response.destroy(); // as the service behind it did
  }
}

/** Frames of AWS's event stream, one for each server-sent event. */
function frames(blocks: readonly string[]): Uint8Array {
  return Buffer.concat(
    blocks.flatMap((block) => {
      const data = block.split("\n").find((line) => line.startsWith("data: "));
      return data === undefined ? [] : [frame({ bytes: Buffer.from(data.slice(6)).toString("base64") })];
    }),
  );
}

function frame(payload: object): Buffer {
  const headers = Buffer.concat(
    Object.entries({ ":event-type": "chunk", ":content-type": "application/json", ":message-type": "event" }).map(
      ([name, value]) => {
        const size = Buffer.alloc(2);
        size.writeUInt16BE(value.length);
        return Buffer.concat([
          Buffer.from([name.length]),
          Buffer.from(name),
          Buffer.from([7]),
          size,
          Buffer.from(value),
        ]);
      },
    ),
  );
  const body = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(16 + headers.length + body.length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  const whole = Buffer.concat([prelude, sum(prelude), headers, body]);
  return Buffer.concat([whole, sum(whole)]);
}

function sum(bytes: Buffer): Buffer {
  const checked = Buffer.alloc(4);
  checked.writeUInt32BE(crc32(bytes));
  return checked;
}

/** Computes the request's signature as AWS documents it (Signature Version 4), and compares. */
function isSigned({ method, url, headers, body }: LoopbackRequest): boolean {
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/bedrock\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;
  const [, key, day = "", region = "", signed = "", given] = pattern.exec(headers.authorization ?? "") ?? [];
  const names = signed.split(";");
  const mustHave = ["host", "x-amz-date", "x-amz-security-token", "content-type"];
  if (key !== AWS.AWS_ACCESS_KEY_ID || region !== AWS.AWS_REGION || !mustHave.every((name) => names.includes(name)))
    return false;
  if (headers["x-amz-security-token"] !== AWS.AWS_SESSION_TOKEN) return false;
  const path = url.split("/").map(encodeURIComponent).join("/");
  const canonical = [
    method,
    path,
    "",
    ...names.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, " ")}`),
    "",
    signed,
    digest(body),
  ].join("\n");
  const scope = `${day}/${region}/bedrock/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, digest(canonical)].join("\n");
  const secret = [day, region, "bedrock", "aws4_request"].reduce<string | Buffer>(
    (with_, part) => createHmac("sha256", with_).update(part).digest(),
    `AWS4${AWS.AWS_SECRET_ACCESS_KEY}`,
  );
  return createHmac("sha256", secret).update(text).digest("hex") === given;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
