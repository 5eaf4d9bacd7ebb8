import { expect, test } from "vitest";
import { accountOf } from "../../src/reports/model/account.ts";
import {
  breaks,
  calls,
  NODE_TIMEOUT,
  OPS,
  type PlayOptions,
  play,
  recordOf,
  says,
  workflowOf,
} from "../harness/harness.ts";
import { reportOf } from "./triage-run.ts";

/** The advice for a node that failed, which depends on the recorded cause and never on the words of an error. */

type Nodes = Parameters<typeof workflowOf>[0];
type Edges = Parameters<typeof workflowOf>[1];

function failureOf(nodes: Nodes, options: PlayOptions, edges: Edges = []) {
  const record = recordOf(workflowOf(nodes, edges), { skills: [OPS], files: FILES, settings: { max_turns: 1 } });
  return accountOf(reportOf(record, play(record, options).events)).failure;
}

const FILES = { "b.yml": workflowOf({ b: {}, c: {} }, ["b -> c"]) };

const firstAdvice = (...run: Parameters<typeof failureOf>) => failureOf(...run)?.next[0]?.text;

const judge = { name: "good", kind: "judge", rubric: "Is it good?" } as const;

test("a node that ran out of turns", () => {
  const always = () => calls(["ops_look", {}]);
  expect(firstAdvice({ a: { skills: ["ops"] } }, { answers: always })).toMatch(/^raise the node's max_turns/);
});

test("a node that ran out of time", () => {
  expect(firstAdvice({ a: {} }, { answers: [{ ...NODE_TIMEOUT, message: "late" }] })).toMatch(
    /^give the node more time/,
  );
});

test("a node whose workflow reached the node's limits", () => {
  const called = { a: { call: "b.yml", limits: { max_tokens: 1 } } };
  expect(firstAdvice(called, {})).toMatch(/^raise the `limits`/);
});

test("a node whose evaluators did not pass", () => {
  expect(firstAdvice({ a: { eval: [judge] } }, { answers: ["x", "VERDICT: no"] })).toMatch(
    /^check what its evaluators/,
  );
});

test("a step that may have been carried out leads to a look first, and never to a resume that repeats nothing", () => {
  const lost = { error: "timed out", code: "tool.failed", acted: "unknown" } as const;
  const steps = [{ id: "s", tool: "ops_act", with: {} }];
  const failure = failureOf({ a: { steps, skills: ["ops"] } as Nodes[string] }, { tools: () => lost });
  expect(failure).toMatchObject({
    cause: "in_doubt",
    next: [{ text: expect.stringMatching(/^check at the service/) }, {}, {}],
  });
  expect(failure?.next.map(({ command }) => command?.replace(/ .* --from/, " … --from"))).toEqual([
    undefined,
    expect.stringMatching(/^runs show \S+ a$/),
    expect.stringMatching(/^resume .*--from a$/),
  ]);
});

test.each(["the limit of 3 turns", "the time limit of 5 s", "eval failed", "2 evals failed"])(
  "a model that refuses with the words %j gets none of this advice",
  (words) => {
    const refusal = { parts: [{ type: "text", text: words }], stop: "refusal" } as const;
    expect(firstAdvice({ a: {} }, { answers: [refusal] })).toMatch(/^see its prompts/);
  },
);

test("a first failure is not the end of the run because a later one has the same words", () => {
  const refusal = { parts: [{ type: "text", text: "no" }], stop: "refusal" } as const;
  const answers = [refusal, says('{"choice":"a"}'), refusal, says('{"choice":"none"}')];
  const failure = failureOf({ a: {} }, { answers }, ["a -> a: it may work again"]);
  expect(failure).toMatchObject({ visit: { number: 1 }, end: "a: the model refused: no" });
});

test("a failure that the run ended with is reported once, although another node ran after it", () => {
  const steps = [{ id: "s", tool: "ops_look", if: "a.nothing exists" }];
  const edges = [{ from: "a", to: "b", if: "a.error exists" }];
  const nodes = { a: {}, b: { steps, skills: ["ops"] } } as Nodes;
  const failure = failureOf(nodes, { answers: [breaks("model.unreachable", "nothing answers")] }, edges);
  expect(failure).toMatchObject({ headline: "a: nothing answers" });
  expect(failure).not.toHaveProperty("end");
});
