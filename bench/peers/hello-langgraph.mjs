import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";

const model = new ChatOpenAI({ model: "m", apiKey: "key", configuration: { baseURL: process.env.OPENAI_BASE_URL } });
const graph = new StateGraph(Annotation.Root({ said: Annotation() }))
  .addNode("hello", async () => ({ said: (await model.invoke("Say hello.")).text }))
  .addEdge(START, "hello")
  .addEdge("hello", END)
  .compile();
console.log((await graph.invoke({})).said);
