import { Server } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { connectStreams } from "../../../src/protocol/mcp/stdio.ts";
import { LONG } from "../../harness/long.ts";

const PINGS = LONG ? 5000 : 1500;

it.each([
  ["ids of their own", (n: number) => n],
  ["one id", () => 1],
])("a client that sends requests forever, with %s, and reads no answer is disconnected", async (_, idOf) => {
  const info = { name: "served", version: "1" };
  const service = {
    offer: Promise.resolve({} as never),
    createServer: () => new Server(info, { capabilities: {} }),
    close: async () => undefined,
  };
  const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: info };
  let asked = 0;
  async function* input() {
    yield line({ id: "hello", method: "initialize", params: hello });
    yield line({ method: "notifications/initialized" });
    while (asked < PINGS) yield line({ id: idOf(asked++), method: "ping" });
  }
  const answers: string[] = [];
  const held: (() => void)[] = [];
  let isReading = false;
  const write = (text: string) => {
    answers.push(text);
    return isReading ? Promise.resolve() : new Promise<void>((resolve) => held.push(resolve));
  };
  const { ended } = await connectStreams(service, { input: input(), write, onProblem: (why) => expect.fail(why) });
  while (answers.length < 512) await new Promise(setImmediate);
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
  expect(answers).toHaveLength(512);
  expect(asked).toBeLessThan(515);
  isReading = true;
  for (const release of held) release();
  await ended;
  expect(answers).toHaveLength(PINGS + 1);
});

const line = (message: object) => Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
