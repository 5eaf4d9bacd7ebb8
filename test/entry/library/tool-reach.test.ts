import { memoryStore, openProject } from "skillflow";
import { scriptedModel } from "skillflow/testing";
import { describe, expect, it } from "vitest";
import { makeProject } from "../../cli/program.ts";

/** The statements of a skill in the checkout about its own tools, and their effect in a run. */

const CLAIM = { claim: "it is known", evidence: [{ ref: "r1", quote: "This tool runs nothing by itself" }] };

const FLOW = {
  id: "flow",
  name: "Flow",
  entry: "look",
  nodes: {
    look: {
      name: "Look",
      instruction: "Look.",
      skills: ["board"],
      output: { type: "object", properties: { claims: { type: "array" } }, required: ["claims"] },
      eval: [
        {
          name: "known",
          kind: "evidence",
          rule: { claims: "claims[*]", independent: true, min_supported: 1 },
        },
      ],
    },
  },
  edges: [],
};

/** A tool without a script, which needs no trust. */
const SEE = { name: "see", description: "Sees.", origin: "team", reads: "open" };
const CHECKOUT = {
  "skills/board/SKILL.md": "---\nname: board\ndescription: A board.\n---\nLook there.\n",
  "skills/board/tools.json": [SEE],
};
const MAPPED = {
  "skills/board/SKILL.md": "---\nname: board\ndescription: A board.\norigins:\n  see: team\n---\nLook there.\n",
  "skills/board/tools.json": [{ name: "see", description: "Sees." }],
};

describe.each([
  ["tools.json", CHECKOUT],
  ["SKILL.md", MAPPED],
])("independent evidence of a tool that declares itself the team's by its %s", (_, files) => {
  const statusWith = async (trust: readonly string[]) => {
    const directory = makeProject({ ".git/HEAD": "", ...files });
    const replies = [{ calls: [{ tool: "board_see" }] }, { data: { claims: [CLAIM] } }, { data: { claims: [CLAIM] } }];
    const project = await openProject({
      directory,
      env: {},
      trust: [...trust],
      models: { acme: scriptedModel(replies) },
      store: memoryStore(),
    });
    const { status, results } = await project.run(FLOW as never, { model: "acme:x", input: {} }).result;
    return [status, results.look?.evidence];
  };

  it("supports no claim if the skill is the checkout's", async () => {
    expect(await statusWith([])).toMatchObject(["failed", { supported: 0 }]);
  });

  it("supports a claim if the operator trusts the skill", async () => {
    expect(await statusWith(["board"])).toMatchObject(["succeeded", { supported: 1, held: 1 }]);
  });
});
