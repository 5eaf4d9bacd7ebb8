export default {
  id: "pager",
  name: "Pager",
  description: "Pages the engineer on call",
  category: "notification",
  config: {},
  instruction: "Page only when customers cannot pay.",
  tools: [
    {
      name: "page",
      description: "Pages the engineer on call.",
      effect: "write",
      input_schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      handler: ({ text }) => ({ paged: text }),
    },
  ],
};
