import { makeProject } from "./program.ts";

/** A board whose issues are judged one by one. Then an expert is asked, and a person. */
export const BOARD = {
  id: "board",
  name: "Triage the board",
  entry: "each",
  nodes: {
    each: {
      name: "Judge each issue",
      map: { over: "input.issues", as: "issue", key: "issue.id", max_items: 4 },
      entry: "look",
      nodes: {
        look: {
          name: "Look at the issue",
          instruction: "Look.",
          output: { type: "object", required: ["kind"], properties: { kind: { type: "string" } } },
        },
        decide: { name: "Decide", instruction: "Decide." },
      },
      edges: [{ from: "look", to: "decide" }],
    },
    expert: { name: "Ask the expert", call: "./expert.yml", with: { question: "{{each.failed}} failed: why?" } },
    sure: { name: "May it be filed?", approval: { ask: "File what was found?", timeout: "2h" } },
    done: { name: "File it", instruction: "File." },
  },
  edges: [
    { from: "each", to: "expert" },
    { from: "expert", to: "sure" },
    { from: "sure", to: "done", if: "sure.approved = true" },
  ],
};

const EXPERT = {
  id: "expert",
  name: "Expert",
  entry: "think",
  nodes: { think: { name: "Think", instruction: "Think hard." } },
  edges: [],
};

/** The second issue has no good answer. The third has the key of the first. The fifth is left out. */
export const ISSUES = { issues: ["fp-1", "it's 2", "fp-1", "fp-4", "fp-5", "fp-6"].map((id) => ({ id })) };

const SCRIPT = {
  replies: [
    { node: "look", data: { kind: "bug" } },
    { node: "decide", text: "a bug" },
    { node: "look", text: "nope" },
    { node: "look", text: "nope" },
    ...["fp-4", "fp-5"].flatMap((id) => [
      { node: "look", data: { kind: "noise" } },
      { node: "decide", text: `noise at ${id}` },
    ]),
    { node: "think", text: "I think so." },
    { node: "done", text: "filed" },
  ],
};

export function boardProject(): string {
  return makeProject({ "board.yml": BOARD, "expert.yml": EXPERT, "in.json": ISSUES, "board.json": SCRIPT });
}

export const RUN_BOARD = ["run", "board.yml", "--input", "@in.json", "--model", "script:board.json", "--run-id"];
