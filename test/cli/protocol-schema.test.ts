import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { makeProject } from "./program.ts";

/** The Skills Protocol's tools, for programs that offer them to a model. */

const NAMES = [
  ...["list_skills", "describe_skill", "read_skill_file", "execute_skill"],
  ...["run_code", "create_blob", "read_blob", "load_skills_protocol_guide"],
];
const schema = async (...args: string[]) => {
  const { code, stdout, stderr } = await runHere(["schema", ...args], { cwd: makeProject({}) });
  return { code, stderr, tools: code === 0 ? (JSON.parse(stdout) as Record<string, unknown>[]) : [] };
};

describe("schema protocol", () => {
  it("prints the eight tools, as in the document and in the providers' formats", async () => {
    const { tools } = await schema("protocol");
    expect(tools.map(({ name }) => name)).toEqual(NAMES);
    const ajv = new Ajv2020({ strict: false });
    for (const { parameters } of tools) expect(ajv.validateSchema(parameters as object)).toBe(true);
    const openai = (await schema("protocol", "--for", "openai")).tools;
    expect(openai).toEqual(tools.map((tool) => ({ type: "function", function: tool })));
    const anthropic = (await schema("protocol", "--for", "anthropic")).tools;
    expect(anthropic).toEqual(
      tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
    );
  });

  it("refuses another provider, and --for another schema", async () => {
    expect(await schema("protocol", "--for", "others")).toMatchObject({ code: 2 });
    expect(await schema("workflow", "--for", "openai")).toMatchObject({ code: 2 });
  });
});
