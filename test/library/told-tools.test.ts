import { defineSkill, defineTool, type Model, openProject, type Prompt, type Skill, type Workflow } from "skillflow";
import { expect, test } from "vitest";
import { makeProject } from "../cli/program.ts";

test("a parameter that config settles is not told to the model, and a call may give it all the same", async () => {
  const seen: unknown[] = [];
  const desk = defineSkill({
    id: "desk",
    name: "Desk",
    description: "Tickets",
    category: "tasks",
    config: { DESK_QUEUE: { description: "The queue.", env: "DESK_QUEUE", secret: false } },
    tools: [
      defineTool({
        name: "open",
        description: "Opens a ticket",
        effect: "write",
        settled_by: { queue: "DESK_QUEUE", title: "DESK_QUEUE", colour: "DESK_QUEUE" },
        input_schema: {
          type: "object",
          properties: { queue: { type: "string" }, title: { type: "string" } },
          required: ["title"],
          additionalProperties: false,
        },
        handler: (input) => seen.push(input),
      }),
    ],
  }) as Skill;
  const told = async (env: Record<string, string>) => {
    const prompt = await firstPrompt(["desk"], { env, skills: [desk], call: { queue: "b", title: "t" } });
    return prompt.tools[0]?.input_schema;
  };
  const title = { type: "string" };
  expect(await told({ DESK_QUEUE: "a" })).toEqual({ type: "object", properties: { title }, required: ["title"] });
  expect(await told({})).toMatchObject({ properties: { queue: { type: "string" }, title } });
  expect(seen).toEqual([
    { queue: "b", title: "t" },
    { queue: "b", title: "t" },
  ]);
});

/** What the first node of a run sends that lists these skills. */
async function firstPrompt(
  skills: readonly string[],
  options: { readonly env: Record<string, string>; readonly skills?: readonly Skill[]; readonly call?: object },
): Promise<Prompt> {
  const workflow: Workflow = {
    id: "look",
    name: "Look",
    entry: "look",
    nodes: { look: { name: "Look", instruction: "Look.", skills: [...skills] } },
    edges: [],
  };
  const prompts: Prompt[] = [];
  const model: Model = {
    provider: "echo",
    async reply(prompt) {
      prompts.push(prompt);
      const [tool] = prompt.tools;
      const isFirst = prompts.length === 1 && options.call !== undefined && tool !== undefined;
      return isFirst
        ? {
            parts: [{ type: "call", id: "c1", tool: tool.name, input: options.call as never }],
            stop: "end",
            usage: null,
          }
        : { parts: [{ type: "text", text: "done" }], stop: "end", usage: null };
    },
  };
  const { skills: own = [], env } = options;
  const project = await openProject({ directory: makeProject({}), env, skills: own, models: { echo: model } });
  await project.run(workflow, { model: "echo:x" }).result;
  const [first] = prompts;
  if (!first) throw new Error("no model was asked");
  return first;
}
