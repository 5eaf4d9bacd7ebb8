import { describe, expect, it } from "vitest";
import { SkillflowError } from "../../../src/core/base/errors.ts";
import { asFlag, renderHint } from "../../../src/core/base/options.ts";
import { checkModels, defaultModel, parseModels } from "../../../src/core/document/model-name.ts";
import { workflowOf } from "../../harness/harness.ts";

/** Names of models, and what the messages about them offer. */

const workflow = workflowOf({ look: {} });
const PROVIDERS = "anthropic, openai, openai-compatible, bedrock, vertex, azure, replay, script";

function refusal(work: () => unknown) {
  try {
    work();
  } catch (error) {
    if (!(error instanceof SkillflowError)) throw error;
    const { code, message, hint } = error;
    return [code, message, hint === undefined ? undefined : renderHint(hint, asFlag)];
  }
  return undefined;
}

const refused = (given: string, env = {}) => refusal(() => checkModels(parseModels(given), workflow, { env }));

describe("a model that cannot be called", () => {
  it.each<[string, Readonly<Record<string, string>>, string, string]>([
    ["anthropic:a", {}, "anthropic needs ANTHROPIC_API_KEY, which is not set", "export ANTHROPIC_API_KEY=…"],
    [
      "anthropic:a,openai:b,openai:c",
      {},
      "anthropic needs ANTHROPIC_API_KEY, which is not set; openai needs OPENAI_API_KEY, which is not set",
      "set ANTHROPIC_API_KEY, or set OPENAI_API_KEY: one model of the list is enough",
    ],
    [
      "azure:a",
      {},
      "azure needs AZURE_OPENAI_ENDPOINT, and AZURE_OPENAI_API_KEY or AZURE_OPENAI_AD_TOKEN, which are not set",
      "for example https://NAME.openai.azure.com",
    ],
    [
      "azure:a",
      { AZURE_OPENAI_ENDPOINT: "https://a.test" },
      "azure needs AZURE_OPENAI_API_KEY or AZURE_OPENAI_AD_TOKEN, which are not set",
      "export AZURE_OPENAI_API_KEY=…",
    ],
  ])("%s reports all that is missing", (given, env, message, hint) => {
    expect(refused(given, env)).toEqual(["config.missing", message, hint]);
  });

  it("is not an error if another one of the list can be called", () => {
    expect(refused("anthropic:a,openai:b", { OPENAI_API_KEY: "k" })).toBeUndefined();
  });
});

describe("a name", () => {
  const how = `write PROVIDER:NAME, as in anthropic:claude-sonnet-4-5; providers: ${PROVIDERS}`;
  it.each([
    ["nosuch:x", '"nosuch:x" has no provider', how],
    ["antropic:x", '"antropic:x" has no provider', `did you mean antropic:x? ${how}`.replace("antropic", "anthropic")],
    ["gpt-5", '"gpt-5" has no provider', how],
    ["", "the list of models has an empty name", `${how}; separate several by commas`],
    ["openai:b,", "the list of models has an empty name", `${how}; separate several by commas`],
    ["openai:b,openai:b", "the list of models names a model twice", "name each model once"],
    [
      "script:x.yml,openai:b",
      "the list of models contains script:x.yml, which answers a whole run",
      "name it alone: --model script:x.yml",
    ],
    [
      "openai:b,replay:x.jsonl",
      "the list of models contains replay:x.jsonl, which answers a whole run",
      "name it alone: --model replay:x.jsonl",
    ],
  ])("%j is refused with a hint", (given, message, hint) => {
    expect(refused(given)).toEqual(["usage.invalid", message, hint]);
  });

  it("is refused in a node's list that names a model with and without its provider", () => {
    const named = workflowOf({ look: { model: ["b", "openai:b"] } });
    const refusedFor = (run: string) => refusal(() => checkModels(run, named, { env: { OPENAI_API_KEY: "k" } }));
    expect(refusedFor("openai:x")?.[1]).toBe("the list of models names a model twice");
    expect(refusedFor("anthropic:x")?.[1]).not.toContain("twice");
  });

  it("of a file keeps its commas", () => {
    expect(parseModels("script:a,b.yml")).toBe("script:a,b.yml");
  });

  it("is requested with every provider that takes one", () => {
    expect(refusal(() => defaultModel({}))?.[2]).toBe(
      "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name one: --model openai-compatible:NAME, bedrock:NAME, vertex:NAME, azure:NAME, replay:FILE or script:FILE",
    );
  });
});
