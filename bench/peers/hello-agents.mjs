import { Agent, run, setOpenAIAPI, setTracingDisabled } from "@openai/agents";

setTracingDisabled(true);
setOpenAIAPI("chat_completions");
const { finalOutput } = await run(new Agent({ name: "Hello", instructions: "Say hello.", model: "m" }), "Say hello.");
console.log(finalOutput);
