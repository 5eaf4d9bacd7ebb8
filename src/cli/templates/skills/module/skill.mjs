/** @type {import("skillflow").SkillDefinition} */
export default {
  id: "{{id}}",
  name: "{{title}}",
  description: "Counts the words of a text",
  category: "general",
  config: {
    LEAST_LETTERS: { description: "Minimum letters in a word", env: "LEAST_LETTERS", secret: false },
  },
  tools: [
    {
      name: "count_words",
      description: "Counts the words of a text.",
      effect: "read",
      input_schema: {
        type: "object",
        properties: { text: { type: "string", description: "The text" } },
        required: ["text"],
        additionalProperties: false,
      },
      handler({ text }, { config }) {
        const least = Number(config.LEAST_LETTERS ?? 1);
        return { words: text.split(/\s+/).filter((word) => word.length >= least).length };
      },
    },
  ],
};
