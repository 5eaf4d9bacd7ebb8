import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { memorySkillFiles, SkillsExtension } from "@modelcontextprotocol/server/ext/skills";
import { startLoopback } from "../../src/testing.ts";

/**
 * A server of skills, written with the official server package. `files` can be changed, and take effect after `reload`.
 */
export async function skillServer(files: Record<string, string | Uint8Array>) {
  const catalog = await SkillsExtension.load(memorySkillFiles(files), { onWarning: () => undefined });
  const handler = createMcpHandler(() => {
    const mcp = new McpServer({ name: "docs", version: "1" });
    mcp.registerTool("look", { description: "Looks." }, () => ({ content: [{ type: "text", text: "seen" }] }));
    catalog.attach(mcp);
    return mcp;
  });
  const loopback = await startLoopback(async ({ method, url, headers, body }, response) => {
    const sent = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
    const hasBody = method !== "GET" && method !== "HEAD" && method !== "DELETE";
    const request = new Request(new URL(url, "http://127.0.0.1"), {
      method,
      headers: sent,
      ...(hasBody ? { body } : {}),
    });
    const answer = await handler.fetch(request);
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()));
  });
  return { ...loopback, files, reload: () => catalog.reload() };
}
