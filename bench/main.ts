import { sendJson, startLoopback } from "../src/testing.ts";
import { benchCommandLine } from "./command-line.ts";
import { benchExecutor } from "./executor-rows.ts";
import { benchLogs } from "./logs.ts";
import { type BenchRow, row } from "./measure.ts";
import { benchServe } from "./serve.ts";
import { benchTokens } from "./tokens.ts";

/** Every promise about speed and memory, each measured beside what a user would compare it with, in one run. */

/** The request that a one-node workflow "Say hello." sends, for each provider. */
async function helloRows(): Promise<BenchRow[]> {
  const { anthropicModel } = await import("../src/models/anthropic.ts");
  const { openaiModel } = await import("../src/models/openai.ts");
  const { compatibleModel } = await import("../src/models/openai-compatible.ts");
  const service = await startLoopback(async (_request, response) =>
    sendJson(response, 400, { error: { message: "no" } }),
  );
  const options = { apiKey: "key", baseURL: service.url };
  const models = [anthropicModel(options), openaiModel(options), compatibleModel(options)];
  for (const model of models) {
    const prompt = { text: "Say hello.", turns: [], tools: [] };
    const signal = new AbortController().signal;
    const call = { key: "1:hello/0/0", purpose: "work", node: "hello", model: "a-model", signal } as const;
    await model.reply(prompt, call).catch(() => undefined);
  }
  await service.close();
  return models.map((model, index) => {
    const bytes = Buffer.byteLength(service.requests[index]?.body ?? "");
    return row(`"Say hello." to ${model.provider}`, `${bytes} bytes`, "2,048 bytes", 2048 / bytes);
  });
}

const PARTS: Readonly<Record<string, () => Promise<readonly BenchRow[]>>> = {
  executor: benchExecutor,
  "command-line": benchCommandLine,
  hello: helloRows,
  serve: benchServe,
  tokens: async () => benchTokens(),
  logs: async () => benchLogs(1_000_000_000),
};

const wanted = process.argv.slice(2);
const rows: BenchRow[] = [];
for (const [name, bench] of Object.entries(PARTS)) {
  if (wanted.length === 0 || wanted.includes(name)) rows.push(...(await bench()));
}
console.log("| What | Measured | Promise | Reserve |\n| --- | --- | --- | --- |");
for (const { name, value, target, ratio } of rows) {
  const reserve = ratio === undefined ? "–" : `${ratio.toFixed(2)}x${ratio < 1 ? " **missed**" : ""}`;
  console.log(`| ${name} | ${value} | ${target} | ${reserve} |`);
}
