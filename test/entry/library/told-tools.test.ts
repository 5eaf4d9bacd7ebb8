import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  defineSkill,
  defineTool,
  type Json,
  type Model,
  memoryStore,
  openProject,
  type Prompt,
  type Skill,
} from "skillflow";
import { scriptedModel } from "skillflow/testing";
import { describe, expect, test } from "vitest";
import { openingTexts } from "../../../src/core/engine/event/prompt.ts";
import { makeProject } from "../../cli/program.ts";

const root = join(import.meta.dirname, "..", "../..");

/** Every variable that a skill reads. */
const EVERYTHING = Object.fromEntries(
  [...readFileSync(join(root, ".env.example"), "utf8").matchAll(/^#([A-Z_]+)=/gm)]
    .flatMap(([, name = ""]) => (/^(?:SKILLFLOW_|OPENAI_|ANTHROPIC_|SENTRY_DSN)/.test(name) ? [] : [name]))
    .map((name) => [name, /URL|ENDPOINT/.test(name) ? "https://service.example" : "given"]),
);

test("a parameter that config sets is not shown to the model, and a call may still pass it", async () => {
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
    const call = { tool: "desk_open", input: { queue: "b", title: "t" } };
    const prompt = await firstPrompt(lookingWith(["desk"]), { env, skills: [desk], call });
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

describe("the git skill", () => {
  const BUNDLE = readFileSync(join(root, "workflows/incidents/checkout-5xx/checkout.bundle"));
  const prepared = (names: readonly string[]) => {
    const directory = makeProject(Object.fromEntries(names.map((name) => [name, "x"])));
    mkdirSync(join(directory, "evidence"), { recursive: true });
    writeFileSync(join(directory, "evidence/shop.bundle"), BUNDLE);
    return directory;
  };
  const offered = async (directory: string, parts: Partial<Asking> = {}, instruction = "Look.") => {
    const prompt = await firstPrompt(lookingWith(["git"], instruction), { env: {}, directory, ...parts });
    return prompt.tools.length > 0;
  };

  test("is left out if neither the working directory nor any text of the run is a repository", async () => {
    expect(await offered(prepared([]))).toBe(false);
    expect(await offered(prepared(["evidence/notes.txt"]), { input: { at: "evidence/notes.txt" } })).toBe(false);
    const outside = { input: { repository: join(root, "workflows/incidents/checkout-5xx/checkout.bundle") } };
    expect(await offered(prepared([]), outside)).toBe(false);
  });

  test("is offered in a repository, and if the input, a text or the config names one", async () => {
    const bundle = "evidence/shop.bundle";
    expect(await offered(prepared([]), { input: { alerts: [{ annotations: { repository: bundle } }] } })).toBe(true);
    expect(await offered(prepared([]), {}, `Read \`${bundle}\`.`)).toBe(true);
    expect(await offered(prepared([]), { env: { GIT_REPOSITORY: bundle } })).toBe(true);
    expect(await offered(prepared([".git/HEAD", ".git/objects/x", ".git/refs/x"]))).toBe(true);
  });

  test("gives the reason if it is left out", async () => {
    const project = await openProject({
      directory: prepared([]),
      env: {},
      models: { echo: scriptedModel([{ text: "" }]) },
    });
    const run = project.run(lookingWith(["git"]), { model: "echo:x", input: {} });
    const warnings = [];
    for await (const event of run) if (event.type === "warning") warnings.push(event.message);
    expect(warnings.join()).toMatch(
      /git.*the working directory is not a git repository, the run's input and texts name no repository/,
    );
  });
});

describe("the size of requests to a model, at four characters a token", () => {
  const tokens = (value: unknown) => Math.round((typeof value === "string" ? value : JSON.stringify(value)).length / 4);

  const SERVICES = ["slack", "sentry", "datadog", "linear", "github", "supabase", "betterstack", "notification"];

  test("is less than 16,000 tokens for the tools of eight services, every one configured, and less than 700 for each", async () => {
    const { tools } = await firstPrompt(lookingWith(SERVICES), { env: EVERYTHING });
    expect(tools.length).toBeGreaterThan(75);
    expect(tools.filter((tool) => tokens(tool) >= 700).map(({ name }) => name)).toEqual([]);
    expect(tokens(tools)).toBeLessThan(16_000);
  });

  test("is less than 11,500 tokens in the first request of the triage, every skill configured", async () => {
    const input = JSON.parse(readFileSync(join(root, "workflows/incidents/checkout-5xx/alert.json"), "utf8"));
    const prompt = await firstPrompt("workflows/incident-triage.yml", { env: EVERYTHING, directory: root, input });
    expect(prompt.tools.map(({ name }) => name.split("_")[0])).toContain("datadog");
    expect(openingTexts(prompt).join("")).toContain("CheckoutHighErrorRate");
    expect(tokens(prompt.tools) + tokens(openingTexts(prompt).join(""))).toBeLessThan(11_500);
  });
});

interface Asking {
  readonly env: Record<string, string>;
  readonly directory?: string;
  readonly input?: Record<string, unknown>;
  readonly skills?: readonly Skill[];
  /** The model's first call. */
  readonly call?: { readonly tool: string; readonly input: Json };
}

function lookingWith(skills: readonly string[], instruction = "Look.") {
  const look = { name: "Look", instruction, skills: [...skills] };
  return { id: "look", name: "Look", entry: "look", nodes: { look }, edges: [] };
}

/** The first request of a run's first node, after which the run ends. */
async function firstPrompt(
  workflow: Parameters<Awaited<ReturnType<typeof openProject>>["run"]>[0],
  { env, directory = makeProject(), input = {}, skills = [], call }: Asking,
): Promise<Prompt> {
  const prompts: Prompt[] = [];
  const model: Model = {
    provider: "echo",
    async reply(prompt) {
      if (prompts.push(prompt) > 1 || !call) throw new Error("that was all");
      return { parts: [{ type: "call", id: "c1", ...call }], stop: "end", usage: null };
    },
  };
  const project = await openProject({ directory, env, skills, models: { echo: model }, store: memoryStore() });
  await project.run(workflow, { model: "echo:x", input }).result.catch(() => undefined);
  const [first] = prompts;
  if (!first) throw new Error("no model was asked");
  return first;
}
