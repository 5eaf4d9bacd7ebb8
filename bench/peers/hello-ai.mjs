import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText } from "ai";

const provider = createOpenAICompatible({ name: "here", baseURL: process.env.OPENAI_BASE_URL, apiKey: "key" });
const { text } = await generateText({ model: provider("m"), prompt: "Say hello." });
console.log(text);
