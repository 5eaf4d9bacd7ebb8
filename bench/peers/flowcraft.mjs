import { createFlow, FlowRuntime } from "flowcraft";
import { nodeByHand } from "./work.mjs";

export { done } from "./work.mjs";

/** Function nodes, which bring no model loop. */
export async function functions(nodes) {
  const flow = createFlow("chain");
  for (let node = 0; node < nodes; node++) {
    flow.node(`n${node}`, async () => ({ output: await nodeByHand() }));
    if (node > 0) flow.edge(`n${node - 1}`, `n${node}`);
  }
  const { status } = await flow.run(new FlowRuntime(), {});
  if (status !== "completed") throw new Error(`the chain ended as ${status}`);
}
