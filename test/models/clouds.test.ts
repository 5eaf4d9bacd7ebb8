import { afterAll, describe, expect, it, vi } from "vitest";
import type { Model } from "../../src/core/engine/ports.ts";
import { azureModel } from "../../src/models/clouds/azure.ts";
import { bedrockModel, vertexModel } from "../../src/models/clouds/claude.ts";
import { callOf, describeModel, type ModelOptions, promptOf } from "../contracts/model.ts";
import {
  AWS,
  AZURE_KEY,
  AZURE_TOKEN,
  googleCredentials,
  startAzure,
  startBedrock,
  startGoogleTokens,
  startVertex,
} from "../services/clouds.ts";
import type { ModelService } from "../services/script.ts";

const tokens = await startGoogleTokens();
vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", googleCredentials(tokens.url));
afterAll(async () => {
  vi.unstubAllEnvs();
  await tokens.close();
});

const bedrock = (url: string, options?: ModelOptions, env: object = AWS): Model =>
  bedrockModel({ ...options, env: { ...env, ANTHROPIC_BEDROCK_BASE_URL: url } });
const azure = (url: string, { apiKey = AZURE_KEY, ...options }: ModelOptions = {}, env: object = {}): Model =>
  azureModel({ ...options, env: { AZURE_OPENAI_API_KEY: apiKey, ...env, AZURE_OPENAI_ENDPOINT: url } });
const vertex = (url: string, options?: ModelOptions): Model => {
  const env = {
    ANTHROPIC_VERTEX_BASE_URL: url,
    CLOUD_ML_REGION: "us-east5",
    ANTHROPIC_VERTEX_PROJECT_ID: "the-project",
  };
  return vertexModel({ ...options, env });
};

const KEYLESS = { isKeyless: true };
describeModel("Claude on Amazon Bedrock", bedrock, startBedrock, KEYLESS);
describeModel("Claude on Vertex AI", vertex, startVertex, KEYLESS);
describeModel("Azure OpenAI", azure, startAzure);

async function asking(starting: Promise<ModelService>, open: (url: string) => Model) {
  const service = await starting;
  const reply = open(service.url).reply(promptOf({}), callOf({ model: "claude" }));
  return reply.finally(() => service.close());
}

const answer = () => ({ text: "Hello." });

describe("credentials", () => {
  it("with a wrong signature are refused by Bedrock", async () => {
    const wrong = { ...AWS, AWS_SECRET_ACCESS_KEY: "another" };
    const reply = asking(startBedrock(answer), (url) => bedrock(url, {}, wrong));
    await expect(reply).rejects.toMatchObject({ code: "model.auth", hint: "Check the AWS credentials." });
  });

  it("for Bedrock come from AWS's own chain without keys in the environment", async () => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", AWS.AWS_ACCESS_KEY_ID);
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", AWS.AWS_SECRET_ACCESS_KEY);
    vi.stubEnv("AWS_SESSION_TOKEN", AWS.AWS_SESSION_TOKEN);
    const reply = await asking(startBedrock(answer), (url) => bedrock(url, {}, { AWS_REGION: AWS.AWS_REGION }));
    expect(reply.parts).toEqual([{ type: "text", text: "Hello." }]);
  });

  it("are not looked up while offline", async () => {
    const open = (url: string) => bedrockModel({ env: { ANTHROPIC_BEDROCK_BASE_URL: url }, offline: true });
    await expect(asking(startBedrock(answer), open)).rejects.toMatchObject({ code: "offline.refused" });
  });

  it("that Google does not find are reported as the error", async () => {
    vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere.json");
    await expect(asking(startVertex(answer), (url) => vertex(url))).rejects.toMatchObject({ code: "model.auth" });
  });

  it("for Azure may be a token of its directory", async () => {
    const env = { AZURE_OPENAI_API_KEY: "", AZURE_OPENAI_AD_TOKEN: AZURE_TOKEN, OPENAI_BASE_URL: "http://127.0.0.1:9" };
    const reply = await asking(startAzure(answer), (url) => azure(`${url}/`, {}, env));
    expect(reply.parts).toEqual([{ type: "text", text: "Hello." }]);
  });
});
