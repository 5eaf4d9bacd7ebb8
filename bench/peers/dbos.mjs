import { DBOS } from "@dbos-inc/dbos-sdk";
import { ANSWER, CALLS, checkedAnswer, done, look, question } from "./work.mjs";

export { done } from "./work.mjs";

/** Bare steps, one for each reply and each result: the durable records of a node in skillflow. */

DBOS.setConfig({ name: "bench", systemDatabaseUrl: process.env.BENCH_DATABASE_URL, logLevel: "error" });
const chain = DBOS.registerWorkflow(
  async (nodes) => {
    for (let node = 0; node < nodes; node++) {
      const asks = await DBOS.runStep(async () => reply(structuredClone(CALLS)), { name: "ask" });
      for (const call of asks) await DBOS.runStep(async () => look(question.parse(call)), { name: "look" });
      checkedAnswer(await DBOS.runStep(async () => reply(ANSWER), { name: "answer" }));
    }
  },
  { name: "chain" },
);
await DBOS.launch();

function reply(value) {
  done.replies++;
  return value;
}

export async function steps(nodes) {
  await (await DBOS.startWorkflow(chain)(nodes)).getResult();
}

export const close = () => DBOS.shutdown();
