import type { Environment } from "../../core/document/config.ts";
import type { Model } from "../../core/engine/ports.ts";
import { type ServiceOptions, serviceOf } from "../faults.ts";
import { plainClient } from "../openai-client.ts";
import { chatModel } from "../openai-compatible.ts";

/** Latest version of the API that is not a preview. */
const API_VERSION = "2024-10-21";

/** Creates a model for a deployment of Azure OpenAI. Every version of its API has Chat Completions. */
export function azureModel({ env, ...options }: ServiceOptions & { readonly env: Environment }): Model {
  const { AZURE_OPENAI_ENDPOINT = "", AZURE_OPENAI_API_KEY, AZURE_OPENAI_AD_TOKEN } = env;
  const key = AZURE_OPENAI_API_KEY?.trim() || undefined;
  const token = key === undefined ? AZURE_OPENAI_AD_TOKEN?.trim() : undefined;
  const keyName = key === undefined ? "AZURE_OPENAI_AD_TOKEN" : "AZURE_OPENAI_API_KEY";
  const baseURL = `${AZURE_OPENAI_ENDPOINT.replace(/\/$/, "")}/openai`;
  const service = serviceOf({ ...options, apiKey: key ?? token }, { name: "Azure OpenAI", baseURL, keyName });
  const apiVersion = env.OPENAI_API_VERSION || API_VERSION;
  return chatModel("azure", service, async (current, line) => {
    const { AzureOpenAI } = await import("openai");
    const { apiKey, ...plain } = plainClient(current, line);
    const credential = token === undefined ? { apiKey } : { azureADTokenProvider: async () => token };
    return new AzureOpenAI({ ...plain, ...credential, apiVersion });
  });
}
