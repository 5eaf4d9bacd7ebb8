import { describe, expect, it } from "vitest";
import { openLinks } from "../../../src/loaders/mcp/offer/links.ts";
import { memoryStore } from "../../../src/testing.ts";
import { PICTURES, vastPicture } from "../../harness/pictures.ts";
import { type Answers, stdioServer } from "../../services/mcp.ts";
import { open } from "./open.ts";

/** Images that servers return, stored for models with image input. */

/** A server whose tool gives these blocks, and whose resource is an image. */
async function openShowing(content: readonly object[]) {
  const answers: Answers = {
    initialize: (params) => ({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {}, resources: {} },
      serverInfo: { name: "showing", version: "1" },
    }),
    "tools/call": new Function(`return { content: ${JSON.stringify(content)} }`) as never,
    "resources/list": () => ({ resources: [{ uri: "pic://1", name: "1" }] }),
    "resources/read": new Function(
      `return { contents: [{ uri: "pic://1", mimeType: "image/gif", blob: "${PICTURES["image/gif"]}" }] }`,
    ) as never,
  };
  const blobs = memoryStore().blobs("r");
  const { call } = await open(stdioServer(answers), { links: openLinks() });
  return { blobs, call: (tool: string, input = {}) => call(tool, input, { blobs }) };
}

const image = (mimeType: string, data: string) => ({ type: "image", mimeType, data });

describe("an image that a server returns", () => {
  it("is stored as a blob of its type, next to the text of the result", async () => {
    const given = Object.entries(PICTURES).map(([kind, data]) => image(kind, data));
    const { call, blobs } = await openShowing([{ type: "text", text: "four" }, ...given]);
    const [text, ...images] = (await call("look")) as { readonly kind: string; readonly blob_id: string }[];
    expect(text).toEqual({ type: "text", text: "four" });
    expect(images.map(({ kind }) => kind)).toEqual(Object.keys(PICTURES));
    for (const { blob_id, kind } of images) {
      const bytes = await blobs.read(blob_id, 0, 1000);
      expect(Buffer.from(bytes).toString("base64")).toBe(PICTURES[kind as keyof typeof PICTURES]);
    }
  });

  it("is stored if it is a resource, embedded or read, and if its type is written differently", async () => {
    const resource = { uri: "pic://0", mimeType: "image/png", blob: PICTURES["image/png"] };
    const { call } = await openShowing([
      { type: "resource", resource },
      image("IMAGE/PNG; q=1", PICTURES["image/png"]),
    ]);
    const kept = { type: "image", kind: "image/png", size_bytes: 70 };
    expect(await call("look")).toMatchObject([kept, kept]);
    expect(await call("read_resource", { uri: "pic://1" })).toMatchObject([{ type: "image", kind: "image/gif" }]);
  });

  it("is described by type, size and reason if no model may be shown it", async () => {
    const { call } = await openShowing([
      image("image/svg+xml", btoa("<svg onload='x'/>")),
      image("image/png", PICTURES["image/gif"]),
      image("image/png", vastPicture(50_000).toString("base64")),
    ]);
    expect(await call("look")).toEqual([
      { type: "image", mimeType: "image/svg+xml", bytes: 17, not_shown: expect.stringMatching(/^only image\/png/) },
      { type: "image", mimeType: "image/png", bytes: 42, not_shown: "its bytes are not image/png" },
      { type: "image", mimeType: "image/png", bytes: 70, not_shown: expect.stringContaining("50000x50000") },
    ]);
  });

  it("is one of at most eight", async () => {
    const { call } = await openShowing(Array.from({ length: 20 }, () => image("image/png", PICTURES["image/png"])));
    const shown = (await call("look")) as { readonly not_shown?: string }[];
    expect(shown.map(({ not_shown }) => not_shown === undefined)).toEqual(Array.from({ length: 20 }, (_, n) => n < 8));
  });
});
