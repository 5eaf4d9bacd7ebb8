import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { Json, JsonObject, JsonSchema, Skill, ToolContext } from "skillflow";
import { type Loopback, type LoopbackHandler, sendJson, startLoopback, toolContext } from "skillflow/testing";
import { afterEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { schemaProblems } from "../../src/core/base/schema/schema.ts";
import { LONG, turnOf } from "../harness/long.ts";
import { describeOutcomes, type WritingCase } from "./outcomes.ts";

/** A skill's values for the suite that runs every one of its tools. */
export interface SkillCase extends Pick<WritingCase, "attempts" | "reads" | "retriesCuts" | "takesAnyAnswer"> {
  /** The skill's configuration for a service at this address. Its secret values are canaries. */
  readonly config: (url: string) => Readonly<Record<string, string>>;
  /** One good input for every tool. */
  readonly inputs: Readonly<Record<string, JsonObject>>;
  /** The vendor's service, answering with as much as it ever would. */
  readonly flood: LoopbackHandler;
  /** Tools that call no service, and so cannot fail with one. */
  readonly offline?: readonly string[];
  /** Inputs that accept any key, as `where: {field: value}` does. All others are closed. */
  readonly open?: readonly string[];
  /** The tool whose description covers parameters that others of the skill have under the same name. */
  readonly describes?: string;
  /** Working directory of calls, for skills that read local files. */
  readonly workDir?: string;
}

const LARGEST_RESULT = 20_000;
const ECHOING = [401, 422, 500, 400, 403, 404, 409];

/** The contract of every tool of every built-in skill. */
export function describeSkill(
  skill: Skill,
  { config, inputs, flood, offline = [], open = [], describes, workDir = "/", ...writing }: SkillCase,
): void {
  describeOutcomes(skill, { config, inputs, flood, ...writing });
  describe(`the ${skill.id} skill keeps the contract of skills`, () => {
    let service: Loopback | undefined;
    afterEach(() => service?.close());

    const contextFor = async (handler: LoopbackHandler, parts: Partial<ToolContext> = {}) => {
      service = await startLoopback(handler);
      return toolContext({ config: declaredOnly(skill, config(service.url)), workDir, ...parts });
    };

    it("comes with an instruction that a model can afford", () => {
      const text = readFileSync(new URL(`../../skills/${skill.id}/SKILL.md`, import.meta.url), "utf8");
      expect(text).toMatch(new RegExp(`^---\nname: ${skill.id}\ndescription: .{20,}\n---\n`));
      expect(text.split("\n").length).toBeLessThan(40);
    });

    it("describes itself and its config, and has distinct tool names", () => {
      expect(skill.description.length).toBeGreaterThan(20);
      for (const field of Object.values(skill.config)) expect(field.description).toMatch(/\.$/);
      const names = skill.tools.map((tool) => tool.name);
      expect(new Set(names).size).toBe(names.length);
      expect(names.every((name) => /^[a-z][a-z0-9_]{1,50}$/.test(name))).toBe(true);
      expect(Object.keys(inputs).sort()).toEqual([...names].sort());
    });

    describe.each(skill.tools.map((tool, place) => [tool.name, tool, place] as const))("%s", (name, tool, place) => {
      const input = inputs[name] ?? {};
      /** Checks that tools of a skill share run for each tool in the long form, otherwise for every third. */
      const isAsked = (turn: number) => LONG || skill.tools.length < 3 || place % 3 === turn;

      it("describes what it does and whether it writes", () => {
        expect(tool.description.length).toBeGreaterThan(20);
        expect(["read", "write"]).toContain(tool.effect);
      });

      it("accepts an input schema that providers accept: a closed object, everything bounded", () => {
        const schema = schemaOf(tool.input_schema);
        expect(schema["type"]).toBe("object");
        const faults = faultsOf(schema, "input").filter((fault) => !open.includes(fault.replace(": open object", "")));
        const elsewhere = name === describes ? [] : Object.keys(propertiesOf(skill, describes));
        const own = faults.filter((fault) => !elsewhere.some((key) => fault === `input.${key}: no description`));
        expect(own).toEqual([]);
        if (own.length < faults.length) expect(tool.description).toContain(`as in ${describes}`);
      });

      it("accepts its example and refuses a parameter that it does not know", () => {
        expect(fits(tool.input_schema, input)).toBe(true);
        expect(fits(tool.input_schema, { ...input, unheard_of: 1 })).toBe(false);
      });

      it("returns less than 20 KB of JSON and only reads config that the skill declares", async () => {
        const context = await contextFor(flood);
        const result = JSON.stringify(await callTool(skill, name, input, context));
        expect(Buffer.byteLength(result)).toBeLessThan(LARGEST_RESULT);
        expect(canariesIn(skill, context, result)).toEqual([]);
      });

      it("costs a model less than 700 tokens", () => {
        const told = { name, description: tool.description, input_schema: schemaOf(tool.input_schema) };
        expect(JSON.stringify(told).length / 4).toBeLessThan(700);
      });

      if (isAsked(0))
        it("sends no request once the call is aborted", async () => {
          const context = await contextFor(flood, { signal: AbortSignal.abort(new Error("the run ended")) });
          await expect(callTool(skill, name, input, context)).rejects.toThrow();
          expect(service?.requests).toHaveLength(0);
        });

      if (offline.includes(name)) return;

      it.each(isAsked(1) ? turnOf(ECHOING, 2) : [])(
        "does not leak a secret when a %s echoes the whole request",
        async (status) => {
          const context = await contextFor(({ method, url, headers, body }, response) => {
            const echo = JSON.stringify({ method, url, headers, body });
            sendJson(
              response,
              status,
              { ok: false, error: echo, message: echo, errors: [echo] },
              { "retry-after": "0" },
            );
          });
          const error = await failureOf(() => callTool(skill, name, input, context));
          expect(canariesIn(skill, context, textOf(error))).toEqual([]);
        },
      );

      if (isAsked(2))
        it("stops when the call is aborted while the service is silent", async () => {
          const controller = new AbortController();
          const abort = () => controller.abort(new Error("the call took too long"));
          const context = await contextFor(abort, { signal: controller.signal });
          await expect(callTool(skill, name, input, context)).rejects.toThrow("the call took too long");
          expect(service?.requests).toHaveLength(1);
        });
    });
  });
}

/** Calls a tool as the executor does. */
export async function callTool(skill: Skill, name: string, input: JsonObject, context: ToolContext): Promise<Json> {
  const tool = skill.tools.find((candidate) => candidate.name === name);
  if (!tool) throw new Error(`${skill.id} has no tool ${name}`);
  const result = (await tool.handler(input as never, context)) as Json;
  if (tool.output_schema) {
    const problems = schemaProblems(tool.output_schema, result);
    if (problems.length > 0)
      throw new Error(`${name} gives what its output_schema does not allow: ${JSON.stringify(problems)}`);
  }
  return result;
}

/** Whether an input passes the schema, as the executor checks it before the handler runs. */
export function fits(inputSchema: unknown, input: JsonObject): boolean {
  const validate = validators.get(inputSchema as object) ?? ajv.compile(schemaOf(inputSchema));
  validators.set(inputSchema as object, validate);
  return validate(input);
}

const ajv = new Ajv2020({ strict: false });
const validators = new WeakMap<object, ValidateFunction>();

export async function failureOf(work: () => Promise<unknown>): Promise<Error> {
  try {
    await work();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("this was meant to fail");
}

function propertiesOf(skill: Skill, name: string | undefined): JsonObject {
  const tool = skill.tools.find((each) => each.name === name);
  return tool ? (schemaOf(tool.input_schema)["properties"] as JsonObject) : {};
}

function schemaOf(inputSchema: unknown): JsonSchema {
  const isZod = typeof inputSchema === "object" && inputSchema !== null && "_zod" in inputSchema;
  return (isZod ? z.toJSONSchema(inputSchema as z.ZodType, { io: "input" }) : inputSchema) as JsonSchema;
}

/** Places where a schema is open, unbounded, undescribed, or uses what a strict provider refuses. */
function faultsOf(schema: JsonSchema, place: string): string[] {
  const faults: string[] = [];
  for (const keyword of ["oneOf", "allOf", "not", "patternProperties", "default"]) {
    if (keyword in schema) faults.push(`${place}: uses ${keyword}`);
  }
  if (/\(\?[=!<]/.test(String(schema["pattern"] ?? ""))) faults.push(`${place}: its pattern looks around`);
  if ("$ref" in schema && !/^#\/\$defs\/\w+$/.test(String(schema["$ref"]))) faults.push(`${place}: refers elsewhere`);
  for (const [name, inner] of Object.entries((schema["$defs"] ?? {}) as Record<string, JsonSchema>)) {
    faults.push(...faultsOf(inner, `${place}.$defs.${name}`));
  }
  const isBounded = ["maxLength", "pattern", "enum", "const"].some((keyword) => keyword in schema);
  if (schema["type"] === "string" && !isBounded) faults.push(`${place}: text without bound`);
  if (schema["type"] === "integer" && !("maximum" in schema)) faults.push(`${place}: number without bound`);
  if (schema["type"] === "array") {
    if (!("maxItems" in schema)) faults.push(`${place}: list without bound`);
    faults.push(...faultsOf(schema["items"] as JsonSchema, `${place}[]`));
  }
  if (schema["type"] === "object") {
    if (schema["additionalProperties"] !== false) faults.push(`${place}: open object`);
    const properties = Object.entries((schema["properties"] ?? {}) as Record<string, JsonSchema>);
    faults.push(...properties.flatMap(([key, property]) => faultsOf(property, `${place}.${key}`)));
  }
  const choices = (schema["anyOf"] ?? []) as readonly JsonSchema[];
  return [...faults, ...choices.flatMap((choice, index) => faultsOf(choice, `${place}.${index}`))];
}

/** Config that fails the test when a handler asks for a field of another skill. */
function declaredOnly(skill: Skill, values: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return new Proxy(values, {
    get(target, key) {
      if (typeof key === "string" && !Object.hasOwn(skill.config, key)) throw new Error(`${key} is not declared`);
      return Reflect.get(target, key) as string | undefined;
    },
  });
}

function canariesIn(skill: Skill, context: ToolContext, text: string): string[] {
  return Object.keys(skill.config).filter((key) => {
    const value = context.config[key];
    if (!value || skill.config[key]?.secret === false) return false;
    const path = URL.canParse(value) ? new URL(value).pathname : value;
    return text.includes(value) || text.includes(path) || text.includes(Buffer.from(value).toString("base64"));
  });
}

/** All text of an error that may be printed, causes included. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return JSON.stringify(error) ?? "";
  return [error.message, error.stack, JSON.stringify(error), textOf(error.cause)].join("\n");
}
