import { createStep, createWorkflow } from "@mastra/core/workflows";
import { answer, nodeByHand } from "./work.mjs";

export { done } from "./work.mjs";

/** Steps of the workflow engine, without an agent. */
export async function steps(nodes) {
  const workflow = createWorkflow({ id: "chain", inputSchema: answer, outputSchema: answer });
  for (let node = 0; node < nodes; node++) {
    workflow.then(createStep({ id: `n${node}`, inputSchema: answer, outputSchema: answer, execute: nodeByHand }));
  }
  const run = await workflow.commit().createRunAsync();
  const { status } = await run.start({ inputData: { cause: "502 at checkout" } });
  if (status !== "success") throw new Error(`the chain ended as ${status}`);
}
