import { Agent, run, setTracingDisabled, tool, Usage } from "@openai/agents";
import { ANSWER, answer, CALLS, done, INSTRUCTION, look, question, USAGE } from "./work.mjs";

export { done } from "./work.mjs";

setTracingDisabled(true);

const usage = new Usage({
  requests: 1,
  inputTokens: USAGE.input,
  outputTokens: USAGE.output,
  totalTokens: USAGE.input + USAGE.output,
});
const model = {
  async getResponse({ input }) {
    done.replies++;
    return { usage, output: isAnswered(input) ? [said(ANSWER)] : [said("I look at both."), ...asks] };
  },
};
const isAnswered = (input) => typeof input !== "string" && input.at(-1).type === "function_call_result";
const said = (text) => {
  return { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text }] };
};
const asks = CALLS.map((input, index) => {
  const call = { callId: `call-${index}`, name: "look", arguments: JSON.stringify(input) };
  return { type: "function_call", status: "completed", ...call };
});
const agent = new Agent({
  name: "Look",
  instructions: INSTRUCTION,
  model,
  tools: [
    tool({
      name: "look",
      description: "Looks at what a service did of late.",
      parameters: question,
      execute: async (input) => JSON.stringify(look(input)),
      errorFunction: null,
    }),
  ],
  outputType: answer.strip(),
});

/** A loop over `run`, each with the answer of the one before. */
export async function loop(nodes) {
  let before = "502 at checkout";
  for (let node = 0; node < nodes; node++) before = (await run(agent, before)).finalOutput.cause;
}
