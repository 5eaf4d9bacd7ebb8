import type { Scripted } from "../services/script.ts";

/** Workflows of the process tests, and what models answer in them. */

/** Looks, then posts: a read, then a write, each at a node of its own. */
export const FLOW = `
id: flow
name: Look and post
entry: look
inputs:
  service: { type: string, description: what is broken }
nodes:
  look:
    name: Look
    instruction: Look at the desk.
    skills: [desk]
  post:
    name: Post
    instruction: Post what you saw.
    skills: [desk]
edges:
  - { from: look, to: post }
`;

const LOOK = { node: "look", calls: [{ tool: "desk_look", input: { text: "a" } }] };
const POST = { node: "post", calls: [{ tool: "desk_post", input: { text: "b" } }] };

/** The replies of a model that does its work, as a script. */
export const WORKING = {
  replies: [LOOK, { node: "look", text: "it is broken" }, POST, { node: "post", text: "it is posted" }],
};

export function scriptOf(...replies: readonly object[]): { readonly replies: readonly object[] } {
  return { replies };
}

interface Body {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

/** Answers the same over the wire. The answer depends on the prompt alone, as with a stateless model. */
export function work(body: Body): Scripted {
  const posting = isPosting(body);
  if (body.messages.some((message) => message.role === "tool")) {
    return { text: posting ? "it is posted" : "it is broken" };
  }
  return { calls: [{ tool: posting ? "desk_post" : "desk_look", input: { text: posting ? "b" : "a" } }] };
}

export function isPosting({ messages: [first] }: Body): boolean {
  return String(first?.content).includes("Post what you saw.");
}

/** One node without skills. */
export const SMALL = `
id: small
name: Small
entry: only
nodes:
  only:
    name: Only
    instruction: Say something.
edges: []
`;
