import { messageOf, SkillflowError, usageError } from "../../core/base/errors.ts";
import { memberAt, parseJson, textAt } from "../../core/base/values.ts";
import type { Environment } from "../../core/document/config.ts";
import type { ShortLivedKeys } from "../../core/document/model-name.ts";
import type { Inputs } from "./inputs.ts";

/** Exchange of the job's identity for short-lived model keys, so that no secret is needed. */

interface Runner {
  readonly env: Environment;
  readonly fetch: typeof fetch;
  /** Masks a secret in the log before it is used. */
  readonly mask: (secret: string) => Promise<void>;
}

/** Token exchange of a vendor, as documented by the vendor. */
interface Exchange {
  readonly provider: "anthropic" | "openai";
  readonly vendor: string;
  readonly variable: string;
  readonly audience: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: (identity: string) => Readonly<Record<string, string>>;
}

/** Gets one key per configured vendor, so that errors surface before the run starts. */
export async function federate(
  inputs: Inputs,
  runner: Runner,
): Promise<{ readonly keys: ShortLivedKeys; readonly env: Environment }> {
  const exchanges = [anthropicExchange(inputs, runner.env), openaiExchange(inputs, runner.env)];
  const known = exchanges.filter((exchange) => exchange !== undefined);
  const opened: [Exchange, () => Promise<string>, string][] = [];
  for (const exchange of known) {
    const key = renewed(exchange, runner);
    opened.push([exchange, key, await key()]);
  }
  return {
    keys: Object.fromEntries(opened.map(([{ provider }, key]) => [provider, key])),
    env: Object.fromEntries(opened.map(([{ variable }, , first]) => [variable, first])),
  };
}

/** https://platform.claude.com/docs/en/manage-claude/wif-reference */
function anthropicExchange(inputs: Inputs, env: Environment): Exchange | undefined {
  const rule = inputs["anthropic-federation-rule"];
  const others = ["anthropic-organization", "anthropic-service-account", "anthropic-workspace"] as const;
  if (rule === "") return needNone(inputs, "anthropic-federation-rule", others);
  const organization = needed(inputs, "anthropic-organization", "anthropic-federation-rule");
  const [account, workspace] = [inputs["anthropic-service-account"], inputs["anthropic-workspace"]];
  return {
    provider: "anthropic",
    vendor: "Anthropic",
    variable: "ANTHROPIC_API_KEY",
    audience: inputs["anthropic-audience"] || "https://api.anthropic.com",
    url: `${(env.ANTHROPIC_BASE_URL || "https://api.anthropic.com").replace(/(?<!\/)\/+$/, "")}/v1/oauth/token`,
    headers: { "anthropic-beta": "oauth-2025-04-20,oidc-federation-2026-04-01" },
    body: (assertion) => ({
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
      assertion,
      federation_rule_id: rule,
      organization_id: organization,
      ...(account === "" ? {} : { service_account_id: account }),
      ...(workspace === "" ? {} : { workspace_id: workspace }),
    }),
  };
}

/** https://developers.openai.com/api/reference/workload-identity-federation */
function openaiExchange(inputs: Inputs, env: Environment): Exchange | undefined {
  const provider = inputs["openai-federation"];
  if (provider === "") return needNone(inputs, "openai-federation", ["openai-service-account"]);
  const account = needed(inputs, "openai-service-account", "openai-federation");
  return {
    provider: "openai",
    vendor: "OpenAI",
    variable: "OPENAI_API_KEY",
    audience: inputs["openai-audience"] || "https://api.openai.com/v1",
    url: env.OPENAI_AUTH_URL || "https://auth.openai.com/oauth/token",
    headers: {},
    body: (subject) => ({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      subject_token: subject,
      identity_provider_id: provider,
      service_account_id: account,
    }),
  };
}

function needed(inputs: Inputs, name: keyof Inputs, by: keyof Inputs): string {
  if (inputs[name] !== "") return inputs[name];
  throw usageError(`${by} needs ${name}`);
}

function needNone(inputs: Inputs, name: keyof Inputs, others: readonly (keyof Inputs)[]): undefined {
  const other = others.find((one) => inputs[one] !== "");
  if (other !== undefined) throw usageError(`${other} needs ${name}`);
}

interface Key {
  readonly token: string;
  readonly expiresAt: number;
}

/** Returns a function that gives the current key. It renews the key before it expires, in one call at a time. */
function renewed(exchange: Exchange, runner: Runner): () => Promise<string> {
  let current: Promise<Key> | undefined;
  let renewAt = 0;
  return async () => {
    if (!current || Date.now() >= renewAt) {
      renewAt = Number.POSITIVE_INFINITY;
      current = exchangeIdentity(exchange, runner);
      current.then(
        ({ expiresAt }) => {
          renewAt = Math.max(expiresAt - EARLY_MS, (Date.now() + expiresAt) / 2);
        },
        () => {
          renewAt = 0;
        },
      );
    }
    return (await current).token;
  };
}

/** Margin before expiry, as long as a model may take to start its answer. */
const EARLY_MS = 120_000;

async function exchangeIdentity(exchange: Exchange, runner: Runner): Promise<Key> {
  const { vendor, url, headers, body } = exchange;
  checkAddress(url, `the exchange of ${vendor}`);
  const identity = await requestIdentity(exchange, runner);
  const sent = {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body(identity)),
  };
  const { status, answer } = await post(url, sent, vendor, runner);
  const token = textAt(answer, "access_token");
  if (status < 200 || status > 299) throw refused(exchange, status, answer, identity);
  const type = textAt(answer, "token_type");
  if (token === undefined || !/^[\x21-\x7e]+$/.test(token) || (type !== undefined && type.toLowerCase() !== "bearer")) {
    throw new SkillflowError("model.auth", `${vendor} answered the exchange without a usable token`);
  }
  await runner.mask(token);
  const seconds = Number(memberAt(answer, "expires_in"));
  return { token, expiresAt: Date.now() + (seconds > 0 ? seconds : SHORTEST_SECONDS) * 1000 };
}

/** Lifetime in seconds if the vendor does not state one. */
const SHORTEST_SECONDS = 300;

/** Describes a vendor's refusal from the OAuth error fields only, because other fields may quote the request. */
function refused({ vendor, audience }: Exchange, status: number, answer: unknown, identity: string): SkillflowError {
  const said = ["error", "error_description"].flatMap((field) => textAt(answer, field) ?? []).join(": ");
  const quoted = said === "" ? "" : `: ${said.replaceAll(identity, "[the job's identity]").slice(0, 600)}`;
  if (status >= 500 || status === 429) {
    const message = `${vendor} did not exchange the job's identity (${status})${quoted}`;
    return new SkillflowError("model.overloaded", message, { repeatable: {} });
  }
  return new SkillflowError("model.auth", `${vendor} refused to exchange the job's identity (${status})${quoted}`, {
    hint: `compare the rule with the job: its repository, ref and event, and the audience ${audience}`,
  });
}

/** Requests the job's identity token from GitHub for one audience. Used for a single exchange. */
async function requestIdentity({ audience, vendor }: Exchange, runner: Runner): Promise<string> {
  const { ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: token } = runner.env;
  if (!url || !token) {
    throw new SkillflowError("config.missing", `the job has no identity to exchange for a key from ${vendor}`, {
      hint: "add permissions: id-token: write to the job (pull requests from forks never have it)",
    });
  }
  checkAddress(url, "ACTIONS_ID_TOKEN_REQUEST_URL");
  const sent = { headers: { accept: "application/json", authorization: `Bearer ${token}` } };
  const separator = url.includes("?") ? "&" : "?";
  const asked = `${url}${separator}audience=${encodeURIComponent(audience)}`;
  const { status, answer } = await post(asked, sent, "GitHub", runner);
  const identity = textAt(answer, "value");
  if (status !== 200 || identity === undefined || identity.length > MOST_IDENTITY) {
    throw new SkillflowError("config.missing", `GitHub gave the job no identity (${status})`, {
      hint: "add permissions: id-token: write to the job",
    });
  }
  await runner.mask(identity);
  return identity;
}

/** Longest identity token that every vendor accepts. */
const MOST_IDENTITY = 16 * 1024;

async function post(url: string, sent: RequestInit, whom: string, { fetch }: Runner) {
  try {
    const response = await fetch(url, { ...sent, redirect: "manual", signal: AbortSignal.timeout(WAIT_MS) });
    return { status: response.status, answer: parseJson(await response.text()) as unknown };
  } catch (error) {
    const message = `${whom} cannot be reached at ${new URL(url).host}: ${messageOf(error)}`;
    throw new SkillflowError("model.unreachable", message, { repeatable: {} });
  }
}

const WAIT_MS = 30_000;

/** Throws unless the address is https or loopback, because tokens must not be readable in transit. */
function checkAddress(text: string, what: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isLoopback = url !== undefined && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback)) return;
  throw new SkillflowError("config.invalid", `${what} is not an https address`);
}
