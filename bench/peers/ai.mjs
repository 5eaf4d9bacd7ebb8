import { generateText, stepCountIs, tool } from "ai";
import { ANSWER, CALLS, checkedAnswer, done, INSTRUCTION, look, question, USAGE } from "./work.mjs";

export { done } from "./work.mjs";

const usage = {
  inputTokens: { total: USAGE.input, noCache: USAGE.input - USAGE.cached, cacheRead: USAGE.cached },
  outputTokens: { total: USAGE.output, text: USAGE.output },
};
const asks = CALLS.map((input, index) => {
  return { type: "tool-call", toolCallId: `call-${index}`, toolName: "look", input: JSON.stringify(input) };
});
const model = {
  specificationVersion: "v3",
  provider: "instant",
  modelId: "model",
  supportedUrls: {},
  async doGenerate({ prompt }) {
    done.replies++;
    return prompt.at(-1).role === "tool"
      ? reply("stop", [{ type: "text", text: ANSWER }])
      : reply("tool-calls", [{ type: "text", text: "I look at both." }, ...asks]);
  },
};
const reply = (unified, content) => ({ content, finishReason: { unified, raw: unified }, usage, warnings: [] });
const tools = {
  look: tool({ description: "Looks at what a service did of late.", inputSchema: question, execute: look }),
};

/** A loop over `generateText`, each with the answer of the one before. */
export async function loop(nodes) {
  let before = "502 at checkout";
  for (let node = 0; node < nodes; node++) {
    const prompt = `${INSTRUCTION}\n\n${before}`;
    const { text } = await generateText({ model, tools, prompt, stopWhen: stepCountIs(5) });
    before = checkedAnswer(text).cause;
  }
}
