import type { Format } from "../../../core/skill/skill.ts";

/** What a new skill is begun with: its files by their paths in the folder. In them `{{id}}` and `{{title}}` are filled in. */
interface SkillTemplate {
  /** Shown once the files are written: what to change first. */
  readonly advice: string;
  readonly files: Readonly<Record<string, string>>;
}

const AGENT_SKILLS: SkillTemplate = {
  advice: "say in the description when to use it, and in the text how",
  files: {
    "SKILL.md": `---
name: {{id}}
description: Reviews a text for length and tone. Use it when a text is about to be published.
---
# {{title}}

1. Count the words. More than 300 are too many: name the paragraphs that could go.
2. Read the text against [the checklist](references/checklist.md).
3. Answer with a list of changes, the most important one first. Quote what you would change.
`,
    "references/checklist.md": `# Checklist

- The first sentence says what it is about.
- Every number has a unit.
- Nothing is promised that nobody has agreed to.
`,
  },
};

const SKILL_TOOLS: SkillTemplate = {
  advice: "declare its tools in tools.json, and write a handler for each in scripts/",
  files: {
    "SKILL.md": `---
name: {{id}}
description: Counts the words and lines of a text. Use it when a text has a limit.
---
# {{title}}

Call \`count_words\` with the whole text before you say how long it is.
`,
    "tools.json": `[
  {
    "name": "count_words",
    "description": "Counts the words and lines of a text.",
    "script": "scripts/count_words.js",
    "parameters": {
      "text": { "type": "string", "description": "The text" },
      "unit": {
        "type": "string",
        "description": "What to count; both when absent",
        "enum": ["words", "lines"],
        "optional": true
      }
    }
  }
]
`,
    "scripts/count_words.js": `export default async function handler({ text, unit }) {
  const words = text.split(/\\s+/).filter(Boolean).length;
  const lines = text.split("\\n").length;
  if (unit === "words") return { words };
  return unit === "lines" ? { lines } : { words, lines };
}
`,
  },
};

const TOOL_DESCRIPTOR: SkillTemplate = {
  advice: "name programs in the allowlist, and map each tool's parameters to their arguments",
  files: {
    "SKILL.md": `---
name: {{id}}
description: Counts the words of a file with wc.
metadata:
  requires:
    bins:
      - wc
---
# {{title}}

Call \`count_words\` with the path of the file.
`,
    "tools.json": `{
  "tools": [
    {
      "name": "count_words",
      "description": "Counts the words of a file.",
      "parameters": {
        "type": "object",
        "properties": { "file": { "type": "string", "description": "Path of the file" } },
        "required": ["file"]
      }
    }
  ],
  "allowlist": { "wc": ["-w"] },
  "execution": [
    {
      "tool": "count_words",
      "binary": "wc",
      "subcommand": "-w",
      "args": [{ "param": "file", "kind": "positional" }]
    }
  ]
}
`,
  },
};

const CONTRACT: SkillTemplate = {
  advice: "write the contract for the model that plans, and bind it to what carries it out",
  files: {
    "contract.yml": `id: {{id}}
version: "1.0.0"
description: >
  Counts the words of a text. Words shorter than the minimum are left out.
input:
  type: object
  properties:
    text:
      type: string
      description: The text
    minimum:
      type: integer
      minimum: 1
      default: 1
      description: Letters that a word has at least
  required: [text]
output:
  type: object
  properties:
    words:
      type: integer
      minimum: 0
  required: [words]
metadata:
  side_effects: false
  idempotent: true
  latency: low
`,
    "binding.yml": `# Exactly one of function, command, tool, mcp and a2a.
function: ./count.mjs#countWords
`,
    "count.mjs": `export function countWords({ text, minimum }) {
  return { words: text.split(/\\s+/).filter((word) => word.length >= minimum).length };
}
`,
  },
};

const SWENY: SkillTemplate = {
  advice: "list the config that it needs, and write the instruction",
  files: {
    "SKILL.md": `---
name: {{id}}
description: How this team judges how bad an incident is
category: observability
config:
  ONCALL_CHANNEL:
    description: Where the engineer on call is told
    env: ONCALL_CHANNEL
---
# {{title}}

Answer with one word and the reason in one sentence:

- **high**: customers cannot pay, or data is lost. The engineer on call is told at once.
- **medium**: something is slow or fails now and then.
- **low**: nobody outside has noticed.
`,
  },
};

const SKILLS_PROTOCOL: SkillTemplate = {
  advice: "describe the package in skill.toml, and write the function that it exports",
  files: {
    "skill.toml": `name = "{{id}}"
version = "0.1.0"
description = "Counts the words of a text."
kind = "action"

[runtime]
language = "python"
entrypoint = "code/main.py"
export = "main"

[permissions]
secrets = []
network = false
`,
    "SKILL.md": `---
name: {{title}}
short_description: Counts the words of a text.
tags: [text]
---
# {{title}}

## Inputs

\`text\`: the text.

## Outputs

\`words\`: how many words it has.
`,
    "code/main.py": `def main(args):
    return {"words": len(args.get("text", "").split())}
`,
  },
};

const MODULE: SkillTemplate = {
  advice: "write its tools; unknown effects count as write",
  files: {
    "skill.mjs": `/** @type {import("skillflow").SkillDefinition} */
export default {
  id: "{{id}}",
  name: "{{title}}",
  description: "Counts the words of a text",
  category: "general",
  config: {
    LEAST_LETTERS: { description: "Letters that a word has at least", env: "LEAST_LETTERS", secret: false },
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
        return { words: text.split(/\\s+/).filter((word) => word.length >= least).length };
      },
    },
  ],
};
`,
    "SKILL.md": `---
name: {{id}}
description: Counts the words of a text
---
Call \`count_words\` with the whole text before you say how long it is.
`,
  },
};

const MCP: SkillTemplate = {
  advice: "name your server's command or url; a path in args starts from where skillflow is run",
  files: {
    "SKILL.md": `---
name: {{id}}
description: Counts the words of a text with an MCP server of its own
mcp:
  command: node
  args:
    - skills/{{folder}}/server.mjs
---
Call \`count_words\` with the whole text before you say how long it is.
`,
    "server.mjs": `import { createInterface } from "node:readline";

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
    serverInfo: { name: "{{id}}", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools }),
  "tools/call": ({ arguments: { text } }) => {
    const words = text.split(/\\s+/).filter(Boolean).length;
    return { content: [{ type: "text", text: JSON.stringify({ words }) }], structuredContent: { words } };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = methods[method]
    ? { result: methods[method](params) }
    : { error: { code: -32601, message: \`unknown method \${method}\` } };
  process.stdout.write(\`\${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\\n\`);
}
`,
  },
};

export const SKILL_TEMPLATES: Readonly<Record<Format, SkillTemplate>> = {
  "agent-skills": AGENT_SKILLS,
  "skill-tools": SKILL_TOOLS,
  "tool-descriptor": TOOL_DESCRIPTOR,
  contract: CONTRACT,
  sweny: SWENY,
  "skills-protocol": SKILLS_PROTOCOL,
  module: MODULE,
  mcp: MCP,
};

/** The files of a new skill, filled in. */
export function fillTemplate(format: Format, names: { readonly id: string; readonly folder: string }) {
  const words = names.folder.replace(/[-.]/g, " ");
  const values: Readonly<Record<string, string>> = {
    ...names,
    title: words.charAt(0).toUpperCase() + words.slice(1),
  };
  return Object.entries(SKILL_TEMPLATES[format].files).map(
    ([path, text]) => [path, text.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => values[name] ?? whole)] as const,
  );
}
