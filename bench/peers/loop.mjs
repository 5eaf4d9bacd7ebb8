import { nodeByHand } from "./work.mjs";

export { done } from "./work.mjs";

/** No engine at all: the limit. */
export async function loop(nodes) {
  for (let node = 0; node < nodes; node++) await nodeByHand();
}
