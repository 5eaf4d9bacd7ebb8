import { z } from "zod";

/** The work of one node, the same for every contestant: the model's replies, the tool's work, and the checks. */

export const INSTRUCTION = "Look at what came before, and say what comes next.";
export const question = z.object({ service: z.string(), minutes: z.number().int().min(1) });
const report = z.object({ service: z.string(), errors: z.number().int(), lines: z.array(z.string()) });
export const answer = z.looseObject({ cause: z.string() });

/** The first reply asks for two calls. */
export const CALLS = ["checkout", "payment"].map((service) => ({ service, minutes: 30 }));
/** The second one is the answer. */
export const ANSWER = JSON.stringify({
  cause: "The payment service answers late since its last release.",
  sure: true,
});
export const USAGE = { input: 900, cached: 700, output: 60 };

/** Counts work, so that no contestant wins by doing less. */
export const done = { replies: 0, looks: 0 };

/** Answers a question that was checked. Its result is checked here, because the peers do not do it. */
export function look({ service, minutes }) {
  done.looks++;
  const lines = Array.from({ length: 5 }, (_, index) => `https://look.example ${service} answered 502 at ${index}`);
  return report.parse({ service, errors: minutes, lines });
}

export function checkedAnswer(text) {
  return answer.parse(JSON.parse(text));
}

/** A node by hand, for peers that bring no model loop of their own. */
export async function nodeByHand() {
  const calls = await reply(false);
  await Promise.all(calls.map(async (call) => look(question.parse(call))));
  return checkedAnswer(await reply(true));
}

async function reply(isLast) {
  done.replies++;
  return isLast ? ANSWER : structuredClone(CALLS);
}
