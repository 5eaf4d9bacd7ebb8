import { appendFileSync } from "node:fs";
import { join } from "node:path";

/** A desk whose tools do what tests need. What they did is in the files of the working directory. */

const input_schema = {
  type: "object",
  properties: { text: { type: "string" } },
  additionalProperties: false,
};

const note = (file, line, { workDir }) => appendFileSync(join(workDir, file), `${line}\n`);

export default {
  id: "desk",
  name: "Desk",
  description: "A desk whose tools do what tests need",
  category: "general",
  config: { DESK_TOKEN: { description: "The desk's token", env: "DESK_TOKEN" } },
  tools: [
    {
      name: "look",
      description: "Looks at the desk",
      effect: "read",
      input_schema,
      handler: ({ text = "" }, context) => {
        note("looks.txt", context.callId, context);
        return { seen: text };
      },
    },
    {
      name: "config",
      description: "Tells the desk's config",
      effect: "read",
      input_schema,
      handler: (_input, { config }) => ({ fields: Object.keys(config), ...config }),
    },
    {
      name: "fetch",
      description: "Fetches what lies at the address",
      effect: "read",
      input_schema,
      handler: async ({ text = "" }, context) => (await context.fetch(text)).text(),
    },
    {
      name: "fail",
      description: "Fails with the text",
      effect: "read",
      input_schema,
      handler: ({ text = "failed" }) => {
        throw new Error(text);
      },
    },
    {
      name: "burst",
      description: "Throws the text where nobody waits for it",
      effect: "read",
      input_schema,
      handler: ({ text = "burst" }) => {
        setImmediate(() => {
          throw new Error(text);
        });
        return new Promise(() => setInterval(() => undefined, 1000));
      },
    },
    {
      name: "hang",
      description: "Answers never, whoever asks it to stop",
      effect: "read",
      input_schema,
      handler: (_input, context) => {
        note("hangs.txt", context.callId, context);
        return new Promise(() => setInterval(() => undefined, 1000));
      },
    },
    {
      name: "post",
      description: "Posts the text, again each time",
      effect: "write",
      input_schema,
      handler: ({ text = "" }, context) => {
        note("posts.txt", context.callId, context);
        return { posted: text };
      },
    },
    {
      name: "mark",
      description: "Marks the text, once however often",
      effect: "write",
      idempotent: true,
      input_schema,
      handler: ({ text = "" }, context) => {
        note("marks.txt", context.callId, context);
        return { marked: text };
      },
    },
  ],
};
