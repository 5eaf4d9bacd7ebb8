import { Agent } from "@mastra/core/agent";

const model = { id: "here/m", url: process.env.OPENAI_BASE_URL, apiKey: "key" };
const agent = new Agent({ name: "hello", instructions: "Say hello.", model });
const { text } = await agent.generate("Say hello.");
console.log(text);
