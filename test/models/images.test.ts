import { describe, expect, it } from "vitest";
import type { ShownImage } from "../../src/core/base/image.ts";
import type { Turn } from "../../src/core/engine/event/prompt.ts";
import type { Model, ModelCall } from "../../src/core/engine/ports.ts";
import { anthropicModel } from "../../src/models/anthropic.ts";
import { openaiModel } from "../../src/models/openai.ts";
import { compatibleModel } from "../../src/models/openai-compatible.ts";
import { API_KEY, callOf, promptOf, TOOLS } from "../contracts/model.ts";
import { PICTURES, pictureBytes, vastPicture } from "../harness/pictures.ts";
import { startAnthropic } from "../services/anthropic.ts";
import { startChat } from "../services/chat.ts";
import { startOpenai } from "../services/openai.ts";
import type { Script } from "../services/script.ts";

/**
 * How the images of results are sent to models with image input, against services that refuse what their vendors
 * refuse.
 */

const BLOB: ShownImage = { blob_id: "blob:1", kind: "image/png", size_bytes: 70 };
const OUTPUT = [{ type: "image", ...BLOB }];
const TEXT = `[r1]\n${JSON.stringify(OUTPUT)}`;
const TURNS: readonly Turn[] = [
  { role: "assistant", parts: [{ type: "call", id: "c1", tool: "list_all", input: {} }] },
  { role: "tools", results: [{ id: "c1", ref: "r1", output: OUTPUT, images: [BLOB], failed: false }] },
];
const CLOSING: readonly Turn[] = [
  { role: "assistant", parts: [{ type: "text", text: "(called list_all with {})" }] },
  { role: "user", text: TEXT, images: [BLOB] },
];
const DATA = PICTURES["image/png"];
const CACHE = { cache_control: { type: "ephemeral" } };

interface Adapter {
  readonly start: (
    script: Script<never>,
  ) => Promise<{ readonly url: string; readonly bodies: object[]; close(): Promise<void> }>;
  readonly open: (baseURL: string) => Model;
}

const ADAPTERS: Readonly<Record<string, Adapter>> = {
  Anthropic: { start: startAnthropic as never, open: (baseURL) => anthropicModel({ apiKey: API_KEY, baseURL }) },
  OpenAI: { start: startOpenai as never, open: (baseURL) => openaiModel({ apiKey: API_KEY, baseURL }) },
  compatible: { start: startChat as never, open: (baseURL) => compatibleModel({ baseURL }) },
};

const see: ModelCall["image"] = async () => pictureBytes("image/png");

/** The requests, one by one. `refuses`: the service accepts no images. */
async function requests(
  name: string,
  {
    turns = TURNS,
    image = see,
    refuses = false,
  }: Partial<{ turns: readonly Turn[]; image: ModelCall["image"] | null; refuses: boolean }>,
) {
  const { start, open } = ADAPTERS[name] as Adapter;
  const service = await start((_, index) => (refuses && index === 0 ? { fault: "no_images" } : { text: "I see." }));
  const call = callOf(image ? { image } : {});
  const reply = await open(service.url).reply(promptOf({ tools: TOOLS, turns }), call);
  await service.close();
  expect(reply.parts).toEqual([{ type: "text", text: "I see." }]);
  return service.bodies;
}

describe("an image of a result", () => {
  it("is in Anthropic's tool_result after its text, and in a message once no tool can be called", async () => {
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: DATA } };
    const content = [{ type: "text", text: TEXT }, image];
    expect((await requests("Anthropic", {})).at(0)).toMatchObject({
      messages: [{}, {}, { content: [{ type: "tool_result", tool_use_id: "c1", content, ...CACHE }] }],
    });
    const [closing] = await requests("Anthropic", { turns: CLOSING });
    expect(closing).toMatchObject({ messages: [{}, {}, { role: "user", content }] });
  });

  it("is in OpenAI's function_call_output after its text, and in a message once no tool can be called", async () => {
    const seen = { type: "input_image", image_url: `data:image/png;base64,${DATA}`, detail: "auto" };
    const output = [{ type: "input_text", text: TEXT }, seen];
    expect((await requests("OpenAI", {})).at(0)).toMatchObject({
      input: [{}, {}, { type: "function_call_output", call_id: "c1", output }],
    });
    const [closing] = await requests("OpenAI", { turns: CLOSING });
    expect(closing).toMatchObject({ input: [{}, {}, { role: "user", content: output }] });
  });

  it("is described in text to other servers, whose models may lack image input", async () => {
    const [request] = await requests("compatible", {});
    expect(request).toMatchObject({ messages: [{}, {}, { role: "tool", tool_call_id: "c1", content: TEXT }] });
  });

  it.each(["Anthropic", "OpenAI"])("is left out if %s reports that the model has no image input", async (name) => {
    const [, again, ...others] = await requests(name, { refuses: true });
    expect(others).toEqual([]);
    expect(JSON.stringify(again)).not.toContain(DATA);
    expect(JSON.stringify(again)).toContain("blob:1");
  });

  it.each<[string, ModelCall["image"]]>([
    ["is gone", async () => undefined],
    ["is none", async () => Buffer.from("<html>")],
    ["unfolds to more than anybody takes", async () => vastPicture(60_000)],
    ["cannot be read", undefined],
  ])("that %s is described in text", async (_what, image) => {
    for (const name of ["Anthropic", "OpenAI"]) {
      const [request, ...others] = await requests(name, { image: image ?? null });
      expect(others).toEqual([]);
      expect(JSON.stringify(request)).not.toMatch(/base64|input_image/);
    }
  });
});
