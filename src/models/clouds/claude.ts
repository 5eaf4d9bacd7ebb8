import type { AnthropicBedrock } from "@anthropic-ai/bedrock-sdk";
import type { AnthropicVertex } from "@anthropic-ai/vertex-sdk";
import { SkillflowError } from "../../core/base/errors.ts";
import { defined } from "../../core/base/values.ts";
import type { Environment } from "../../core/document/config.ts";
import type { Model } from "../../core/engine/ports.ts";
import { claudeModel, plainOptions } from "../anthropic.ts";
import { type ServiceOptions, serviceOf, unsigned } from "../faults.ts";
import { loadPackage } from "../packages.ts";

/** Claude on Amazon Bedrock and on Google Vertex AI. The vendors' SDKs find the credentials and sign the requests. */

interface CloudOptions extends ServiceOptions {
  readonly env: Environment;
  readonly offline?: boolean | undefined;
}

type CredentialChain = () => Promise<{ readonly accessKeyId: string; readonly secretAccessKey: string }>;

export function bedrockModel({ env, offline, ...options }: CloudOptions): Model {
  const awsRegion = env.AWS_REGION || env.AWS_DEFAULT_REGION || "us-east-1";
  const service = serviceOf(
    {
      ...options,
      baseURL: env.ANTHROPIC_BEDROCK_BASE_URL,
      apiKey: env.AWS_BEARER_TOKEN_BEDROCK || undefined,
      unsent: unsigned,
    },
    {
      name: "Amazon Bedrock",
      baseURL: `https://bedrock-runtime.${awsRegion}.amazonaws.com`,
      keyName: env.AWS_BEARER_TOKEN_BEDROCK ? "AWS_BEARER_TOKEN_BEDROCK" : "the AWS credentials",
    },
  );
  const { exports, require } = loadPackage<{ AnthropicBedrock: typeof AnthropicBedrock }>("@anthropic-ai/bedrock-sdk");
  let chain: CredentialChain | undefined;
  // One chain for all requests, because it keeps credentials until they expire.
  const providerChainResolver = async () => {
    // AWS's own chain: profiles, single sign-on, web identities, containers and instances.
    chain ??=
      givenKeys(env) ?? (offline ? undefined : require("@aws-sdk/credential-providers").fromNodeProviderChain());
    if (!chain) throw notOffline("AWS");
    return chain;
  };
  return claudeModel("bedrock", service, async (current, line) => {
    const apiKey = current.apiKey ?? null;
    return new exports.AnthropicBedrock({ ...plainOptions(current, line), awsRegion, apiKey, providerChainResolver });
  });
}

function givenKeys({ AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN }: Environment) {
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) return undefined;
  const keys = { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY };
  return async () => (AWS_SESSION_TOKEN ? { ...keys, sessionToken: AWS_SESSION_TOKEN } : keys);
}

const SCOPES = "https://www.googleapis.com/auth/cloud-platform";

export function vertexModel({ env, offline, ...options }: CloudOptions): Model {
  const { CLOUD_ML_REGION: region = "", ANTHROPIC_VERTEX_PROJECT_ID, GOOGLE_CLOUD_PROJECT } = env;
  const service = serviceOf(
    { ...options, baseURL: env.ANTHROPIC_VERTEX_BASE_URL, unsent: unsigned },
    { name: "Vertex AI", baseURL: vertexAddress(region), keyName: "Google's application default credentials" },
  );
  const { exports, require } = loadPackage<{ AnthropicVertex: typeof AnthropicVertex }>("@anthropic-ai/vertex-sdk");
  const { GoogleAuth } = require("google-auth-library") as typeof import("google-auth-library");
  // One for all requests, because it keeps tokens until they expire.
  const projectId = ANTHROPIC_VERTEX_PROJECT_ID || GOOGLE_CLOUD_PROJECT || undefined;
  const googleAuth = new GoogleAuth({ scopes: SCOPES, ...defined("projectId", projectId) });
  return claudeModel("vertex", service, async (current, line) => {
    if (offline) throw notOffline("Google");
    const authClient = await googleAuth.getClient();
    return new exports.AnthropicVertex({
      ...plainOptions(current, line),
      region,
      authClient,
      ...defined("projectId", projectId),
    });
  });
}

/** Returns the address of a region. The names of multi-regions have another form. */
function vertexAddress(region: string): string {
  if (region === "global") return "https://aiplatform.googleapis.com/v1";
  if (region === "us" || region === "eu") return `https://aiplatform.${region}.rep.googleapis.com/v1`;
  return `https://${region}-aiplatform.googleapis.com/v1`;
}

function notOffline(vendor: string): SkillflowError {
  return new SkillflowError("offline.refused", `Did not ask ${vendor} for credentials: the run is offline`);
}
