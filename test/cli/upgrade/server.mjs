import { createInterface } from "node:readline";

// A server without packages: one JSON-RPC message per line. The MCP SDK does the same and more.
const tools = [
  {
    name: "count_words",
    description: "Counts the words of a text.",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    annotations: { readOnlyHint: true },
  },
];

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "counter", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools }),
  "tools/call": ({ arguments: { text } }) => {
    const words = text.split(/\s+/).filter(Boolean).length;
    return { content: [{ type: "text", text: JSON.stringify({ words }) }], structuredContent: { words } };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = methods[method]
    ? { result: methods[method](params) }
    : { error: { code: -32601, message: `unknown method ${method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
}
