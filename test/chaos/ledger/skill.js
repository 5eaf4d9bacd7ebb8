/** What its tools do is done by another process, which keeps a ledger of it. */

const input_schema = {
  type: "object",
  properties: { text: { type: "string" } },
  required: ["text"],
  additionalProperties: false,
};

function tool(name, parts) {
  const handler = async ({ text }, { callId, config, signal }) => {
    const body = JSON.stringify({ tool: name, key: callId, text });
    const answered = await fetch(config.LEDGER_URL, { method: "POST", body, signal });
    const said = await answered.json();
    if (!answered.ok) throw new Error(said.error);
    return said;
  };
  return { name, description: `${name} at the ledger`, input_schema, handler, ...parts };
}

export default {
  id: "ledger",
  name: "Ledger",
  description: "Reads from and writes to a ledger that another process keeps",
  category: "general",
  config: { LEDGER_URL: { description: "The ledger's address", env: "LEDGER_URL", required: true } },
  tools: [
    tool("look", { effect: "read", origin: "team" }),
    tool("big", { effect: "read" }),
    tool("fail", { effect: "read" }),
    tool("post", { effect: "write" }),
    tool("refuse", { effect: "write" }),
    tool("mark", { effect: "write", idempotent: true }),
  ],
};
