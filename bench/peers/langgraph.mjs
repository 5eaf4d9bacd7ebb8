import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, END, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { ANSWER, CALLS, checkedAnswer, done, INSTRUCTION, look, question, USAGE } from "./work.mjs";

export { done } from "./work.mjs";

class Instant extends BaseChatModel {
  _llmType() {
    return "instant";
  }
  async _generate(messages) {
    done.replies++;
    const isLast = messages.at(-1).getType() === "tool";
    const content = isLast ? ANSWER : "I look at both.";
    const message = new AIMessage({ content, tool_calls: isLast ? [] : asks, usage_metadata: usage });
    return { generations: [{ text: content, message }] };
  }
}
const usage = {
  input_tokens: USAGE.input,
  output_tokens: USAGE.output,
  total_tokens: USAGE.input + USAGE.output,
};
const asks = CALLS.map((args, index) => ({ id: `call-${index}`, name: "look", args, type: "tool_call" }));
const model = new Instant({});
const tools = new ToolNode(
  [
    tool(async (input) => JSON.stringify(look(input)), {
      name: "look",
      description: "Looks at what a service did of late.",
      schema: question,
    }),
  ],
  { handleToolErrors: false },
);

const State = Annotation.Root({ cause: Annotation() });

async function work({ cause }) {
  const messages = [new SystemMessage(INSTRUCTION), new HumanMessage(cause)];
  const asking = await model.invoke(messages);
  const { messages: results } = await tools.invoke({ messages: [...messages, asking] });
  const answered = await model.invoke([...messages, asking, ...results]);
  return { cause: checkedAnswer(answered.text).cause };
}

async function chain(nodes, { checkpointer, ...options }) {
  const graph = new StateGraph(State);
  for (let node = 0; node < nodes; node++) graph.addNode(`n${node}`, work);
  graph.addEdge(START, "n0").addEdge(`n${nodes - 1}`, END);
  for (let node = 1; node < nodes; node++) graph.addEdge(`n${node - 1}`, `n${node}`);
  const configurable = { thread_id: `chain-${performance.now()}` };
  const compiled = graph.compile({ checkpointer });
  await compiled.invoke({ cause: "502 at checkout" }, { recursionLimit: nodes + 10, configurable, ...options });
}

export const toolNode = (nodes) => chain(nodes, {});

export const memorySaver = (nodes) => chain(nodes, { checkpointer: new MemorySaver() });

/** Each step is on disk before the next one starts, as skillflow's file store guarantees too. */
export async function sqliteSaver(nodes, folder) {
  const { SqliteSaver } = await import("@langchain/langgraph-checkpoint-sqlite");
  const checkpointer = SqliteSaver.fromConnString(`${folder}/chain-${performance.now()}.sqlite`);
  await chain(nodes, { checkpointer, durability: "sync" });
  checkpointer.db.close();
}
