import {
  defineSkill,
  defineTool,
  type Json,
  type JsonObject,
  type JsonSchema,
  type Project,
  type Run,
  type Skill,
  type Workflow,
} from "skillflow";
import { describe, expectTypeOf, it } from "vitest";
import * as z from "zod";

/** The input type of a handler. tsc reports errors here. */
describe("a handler's input", () => {
  const about = { name: "t", description: "" };

  it("is inferred from an inline JSON Schema", () => {
    defineTool({
      ...about,
      input_schema: {
        type: "object",
        properties: {
          id: { type: "string" },
          count: { type: "integer" },
          share: { type: "number" },
          urgent: { type: "boolean" },
          level: { enum: ["low", "high", 3] },
          kind: { const: "page" },
          nothing: { type: "null" },
          tags: { type: "array", items: { type: "string" } },
          any: { type: "array" },
          either: { type: ["string", "null"] },
          inner: { type: "object", properties: { at: { type: "string" } }, required: ["at"] },
          open: { type: "object" },
        },
        required: ["id", "level", "tags", "either"],
      },
      handler: (input) => {
        expectTypeOf(input.id).toEqualTypeOf<string>();
        expectTypeOf(input.count).toEqualTypeOf<number | undefined>();
        expectTypeOf(input.share).toEqualTypeOf<number | undefined>();
        expectTypeOf(input.urgent).toEqualTypeOf<boolean | undefined>();
        expectTypeOf(input.level).toEqualTypeOf<"low" | "high" | 3>();
        expectTypeOf(input.kind).toEqualTypeOf<"page" | undefined>();
        expectTypeOf(input.nothing).toEqualTypeOf<null | undefined>();
        expectTypeOf(input.tags).toEqualTypeOf<readonly string[]>();
        expectTypeOf(input.any).toEqualTypeOf<readonly Json[] | undefined>();
        expectTypeOf(input.either).toEqualTypeOf<string | null>();
        expectTypeOf(input.inner).toEqualTypeOf<{ readonly at: string } | undefined>();
        expectTypeOf(input.open).toEqualTypeOf<JsonObject | undefined>();
        // @ts-expect-error a property that the schema does not have
        input.other;
        return null;
      },
    });
  });

  it("is Json if other keywords describe it", () => {
    defineTool({
      ...about,
      input_schema: {
        properties: { a: { anyOf: [{ type: "string" }, { type: "number" }] }, b: { $ref: "#/$defs/b" }, c: {} },
        required: ["a", "d"],
      },
      handler: ({ a, b, c, d }) => {
        expectTypeOf(a).toEqualTypeOf<Json>();
        expectTypeOf(b).toEqualTypeOf<Json | undefined>();
        expectTypeOf(c).toEqualTypeOf<Json | undefined>();
        expectTypeOf(d).toEqualTypeOf<Json>();
      },
    });
    const schema: JsonSchema = { type: "object" };
    defineTool({
      ...about,
      input_schema: { type: "object" },
      handler: (input) => expectTypeOf(input).toEqualTypeOf<JsonObject>(),
    });
    defineTool({
      ...about,
      input_schema: schema,
      handler: (input) => expectTypeOf(input).toExtend<Json>(),
    });
  });

  it("is inferred from a zod schema", () => {
    defineTool({
      ...about,
      input_schema: z.object({ id: z.string(), limit: z.number().default(5) }),
      handler: (input) => expectTypeOf(input).toEqualTypeOf<{ id: string; limit: number }>(),
    });
  });

  it("may be annotated if a skill is written without defineTool", () => {
    const pager: Skill = {
      id: "pager",
      name: "Pager",
      description: "Pages",
      category: "notification",
      config: {},
      tools: [
        {
          ...about,
          input_schema: { type: "object" },
          handler: async (input: { readonly text?: string }, { config }) => ({ sent: input.text, to: config.TO }),
        },
      ],
    };
    expectTypeOf(defineSkill(pager)).toEqualTypeOf<Skill>();
  });
});

describe("the results of a run", () => {
  const run = (project: Project) =>
    project.run({
      id: "w",
      name: "W",
      entry: "a",
      nodes: {
        a: {
          name: "A",
          instruction: "A",
          output: { type: "object", properties: { verdict: { enum: ["yes", "no"] } }, required: ["verdict"] },
        },
        b: { name: "B", instruction: "B" },
      },
      edges: [{ from: "a", to: "b" }],
    });
  type Results = Awaited<ReturnType<typeof run>["result"]>["results"];

  it("have the types of the output schemas of an inline workflow", () => {
    expectTypeOf<NonNullable<Results["a"]>["data"]>().toEqualTypeOf<{ readonly verdict: "yes" | "no" }>();
    expectTypeOf<NonNullable<Results["b"]>["data"]>().toEqualTypeOf<JsonObject>();
    // @ts-expect-error a node that the workflow does not have
    expectTypeOf<Results["c"]>();
  });

  it("are those of any node for a path, and for a workflow that is not literal", () => {
    const ofAny = (project: Project, workflow: Workflow) => [project.run("w.yml"), project.run(workflow)] as const;
    expectTypeOf<ReturnType<typeof ofAny>[0]>().toExtend<Run>();
    expectTypeOf<ReturnType<typeof ofAny>[1]>().toExtend<Run>();
  });
});
