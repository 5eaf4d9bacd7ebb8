import { sendJson, startLoopback } from "../../src/testing.ts";
import type { Bench } from "../measure.ts";
import type { Row } from "../results.ts";

const BYTES = "body";

/** The request that a one-node workflow "Say hello." sends, for each provider. */
export const hello: Bench = {
  name: "hello",
  title: "The smallest request",
  isCounted: true,
  how: 'What is sent to a provider for a workflow of one node that says "Say hello.": the body of the request.',
  async measure() {
    const { anthropicModel } = await import("../../src/models/anthropic.ts");
    const { openaiModel } = await import("../../src/models/openai.ts");
    const { compatibleModel } = await import("../../src/models/openai-compatible.ts");
    const service = await startLoopback((_request, response) => sendJson(response, 400, { error: { message: "no" } }));
    const options = { apiKey: "key", baseURL: service.url };
    const models = [anthropicModel(options), openaiModel(options), compatibleModel(options)];
    for (const model of models) {
      const prompt = { text: "Say hello.", turns: [], tools: [] };
      const signal = new AbortController().signal;
      const call = { key: "1:hello/0/0", purpose: "work", node: "hello", model: "a-model", signal } as const;
      await model.reply(prompt, call).catch(() => undefined);
    }
    await service.close();
    const rows = models.map(({ provider }, index): Row => {
      const bytes = Buffer.byteLength(service.requests[index]?.body ?? "");
      const promises = { [BYTES]: { most: 2048 } };
      return { name: `to ${provider}`, kind: "ours", cells: { [BYTES]: [bytes] }, promises };
    });
    return { columns: [{ name: BYTES, unit: "bytes", better: "less" }], rows, rounds: 1 };
  },
};
