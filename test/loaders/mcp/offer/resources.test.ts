import { join } from "node:path";
import { describe, expect } from "vitest";
import { openLinks } from "../../../../src/loaders/mcp/offer/links.ts";
import { oneOf } from "../../../harness/long.ts";
import { type Answers, stdioServer } from "../../../services/mcp.ts";
import { open, openScript } from "../open.ts";

const it = oneOf(2);

/** Resources that results of servers link and embed, and reading them on demand. */

const EVERYTHING = join(
  import.meta.dirname,
  "..",
  "../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js",
);

/** A server that links, lists and gives resources, and notes each address that it is asked for. */
const LINKING: Answers = {
  initialize: (params) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: {}, resources: {} },
    serverInfo: { name: "linking", version: "1" },
  }),
  "tools/call": () => ({
    content: [
      {
        type: "resource_link",
        uri: "log://pods/api-1",
        name: "api-1.log",
        title: "The log of api-1",
        description: "The last hour",
        mimeType: "text/plain",
        size: 12,
      },
      { type: "resource", resource: { uri: "log://held", mimeType: "application/json", blob: btoa('{"a":1}') } },
      { type: "resource", resource: { uri: "log://bin", mimeType: "application/gzip", blob: btoa("xyz") } },
    ],
  }),
  "resources/list": () => ({ resources: [{ uri: "log://listed", name: "listed" }] }),
  "resources/read": ({ uri }) => ({ contents: [{ uri, mimeType: "text/plain", text: `what ${uri} holds` }] }),
};

const openLinking = (answers: Answers = {}, known: readonly string[] = []) =>
  openScript({ ...LINKING, ...answers }, { links: openLinks(known) });

describe("a result that links resources", () => {
  it("describes each link completely, includes texts as text, and counts bytes", async () => {
    const { call } = await openLinking();
    expect(await call("look")).toEqual([
      {
        type: "resource_link",
        uri: "log://pods/api-1",
        name: "api-1.log",
        title: "The log of api-1",
        description: "The last hour",
        mimeType: "text/plain",
        size: 12,
      },
      { type: "resource", uri: "log://held", mimeType: "application/json", text: '{"a":1}' },
      { type: "resource", uri: "log://bin", mimeType: "application/gzip", bytes: 3 },
    ]);
  });

  it("makes them readable, with a reading tool that only a server with resources has", async () => {
    const { connection, call } = await openLinking();
    expect(connection.readers).toMatchObject([{ name: "read_resource", effect: "read", idempotent: true }]);
    await call("look");
    expect(await call("read_resource", { uri: "log://pods/api-1" })).toBe("what log://pods/api-1 holds");
    const { connection: without } = await openScript({}, { links: openLinks() });
    expect(without.readers).toEqual([]);
    const { connection: single } = await openScript(LINKING);
    expect(single.readers).toEqual([]);
  });

  it("of the reference server can be followed", async () => {
    const { call } = await open({ command: "node", args: [EVERYTHING, "stdio"] }, { links: openLinks() });
    const blocks = (await call("get-resource-links", { count: 1 })) as {
      readonly type: string;
      readonly uri: string;
    }[];
    const link = blocks.find(({ type }) => type === "resource_link");
    expect(String(await call("read_resource", { uri: link?.uri }))).toMatch(/resource/i);
  });

  it("of a run that continues elsewhere remains readable", async () => {
    const { call } = await openLinking({}, ["log://pods/earlier"]);
    expect(await call("read_resource", { uri: "log://pods/earlier" })).toContain("log://pods/earlier");
  });
});

describe("a resource that is requested", () => {
  it("must be one that the server linked or listed: no other is requested from the server", async () => {
    const { call } = await openLinking({
      "resources/read": () => ({ contents: [{ uri: "file:///etc/passwd", text: "root:x:0:0" }] }),
    });
    await call("look");
    for (const uri of ["file:///etc/passwd", "log://pods/api-2", "http://169.254.169.254/", "log://pods/api-1 "]) {
      await expect(call("read_resource", { uri })).rejects.toMatchObject({ code: "call.refused" });
    }
  });

  it("that the server lists can be read, and without an address the list is returned", async () => {
    const { call } = await openLinking();
    expect(await call("read_resource")).toEqual({
      resources: [{ type: "resource_link", uri: "log://listed", name: "listed" }],
    });
    expect(await call("read_resource", { uri: "log://listed" })).toBe("what log://listed holds");
  });

  it("is read from the server that linked it, whatever its address names", async () => {
    const linksFile: Answers = {
      "tools/call": () => ({ content: [{ type: "resource_link", uri: "file:///etc/passwd", name: "accounts" }] }),
    };
    const { call } = await openLinking(linksFile);
    await call("look");
    expect(await call("read_resource", { uri: "file:///etc/passwd" })).toBe("what file:///etc/passwd holds");
    const other = await openLinking();
    await expect(other.call("read_resource", { uri: "file:///etc/passwd" })).rejects.toThrow(
      "neither linked nor listed",
    );
  });

  it("with bytes is described by type and size", async () => {
    const { call } = await openLinking({
      "resources/read": ({ uri }) => ({
        contents: [
          { uri, mimeType: "application/pdf", blob: btoa("%PDF") },
          { uri, mimeType: "text/plain", text: "beside it" },
        ],
      }),
    });
    await call("look");
    expect(await call("read_resource", { uri: "log://bin" })).toEqual([
      { type: "resource", uri: "log://bin", mimeType: "application/pdf", bytes: 4 },
      { type: "resource", uri: "log://bin", mimeType: "text/plain", text: "beside it" },
    ]);
  });

  it("fails with the server's reason, or with an own one if the answer is malformed", async () => {
    const { call } = await openLinking({
      "resources/read": ({ uri }) =>
        uri === "log://bin" ? { contents: "none" } : { error: { code: -32002, message: "it is gone" } },
    });
    await call("look");
    await expect(call("read_resource", { uri: "log://held" })).rejects.toThrow("it is gone");
    await expect(call("read_resource", { uri: "log://bin" })).rejects.toThrow("without contents");
  });
});

describe("a server that lists and links without limit", () => {
  it("is read up to a limit, with a note that there is more", async () => {
    const { call } = await openLinking({
      "resources/list": ({ cursor }) => ({
        resources: Array.from({ length: 500 }, (_, n) => ({ uri: `log://${cursor}/${n}`, name: `n${n}` })),
        nextCursor: `${cursor ?? ""}x`,
      }),
    });
    const told = (await call("read_resource")) as { readonly resources: unknown[]; readonly left_out: string };
    expect(told.resources).toHaveLength(200);
    expect(told.left_out).toContain("more");
    await expect(call("read_resource", { uri: "log://nowhere" })).rejects.toThrow("neither linked nor listed");
  });

  it("is not read further once its list is too large", async () => {
    const { call } = await openLinking({
      "resources/list": ({ cursor }) => {
        const page = Number(cursor ?? 0);
        const name = "n".repeat(8 * 1024 * 1024);
        return { resources: [{ uri: `log://${page}`, name }], nextCursor: String(page + 1) };
      },
    });
    const told = (await call("read_resource")) as { readonly resources: unknown[]; readonly left_out: string };
    expect(told.resources).toHaveLength(4);
    expect(told.left_out).toContain("more");
  });

  it("has endless names cut, and endless addresses ignored", async () => {
    const { call } = await openLinking({
      "tools/call": () => ({
        content: [
          { type: "resource_link", uri: "a".repeat(5000), name: "n".repeat(5000), description: "d".repeat(5000) },
          { type: "text", text: "seen" },
        ],
      }),
    });
    const [link] = (await call("look")) as { uri: string; name: string; description: string }[];
    expect(link?.uri).toMatch(/too long to be read\)$/);
    expect(link?.name.length).toBeLessThan(300);
    expect(link?.description.length).toBeLessThan(1100);
    await expect(call("read_resource", { uri: "a".repeat(5000) })).rejects.toThrow("neither linked nor listed");
  });

  it("keeps its own tool of that name", async () => {
    const { connection } = await openLinking({
      "tools/list": () => ({ tools: [{ name: "read_resource", inputSchema: { type: "object" } }] }),
    });
    expect(connection.tools).toMatchObject([{ name: "read_resource", effect: "write" }]);
    expect(connection.readers).toEqual([]);
  });

  it("has the reading tool's effects set by the user's own config, like its other tools", async () => {
    const config = { ...stdioServer(LINKING), effects: { read_resource: "write" }, reads: "private" } as const;
    const { connection } = await open(config, { links: openLinks() });
    expect(connection.readers).toMatchObject([{ name: "read_resource", effect: "write", reads: "private" }]);
  });
});
