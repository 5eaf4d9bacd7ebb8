import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publishedSchemas } from "./src/core/published.ts";
import { loadSkillModule } from "./src/loaders/skill-module.ts";

/** Writes the files that are made from the code and checked in: schemas/ and .env.example. */

/** Every generated file's path and content. */
export async function generatedFiles(): Promise<ReadonlyMap<string, string>> {
  const schemas = [...publishedSchemas()].map(([name, schema]) => {
    return [`schemas/${name}.json`, `${JSON.stringify(schema, undefined, 2)}\n`] as const;
  });
  return new Map([...schemas, [".env.example", await envExample()]]);
}

const MODELS = `# Variables that skillflow reads. Nothing here is needed: a skill whose required variables are not set is left out.
# A file like this one is read only when it is named: skillflow run WORKFLOW --env-file .env

# Models: one of them is enough
#ANTHROPIC_API_KEY=
#OPENAI_API_KEY=
# Another server that speaks Chat Completions, for --model openai-compatible:NAME
#OPENAI_BASE_URL=
# The default model, as --model takes it
#SKILLFLOW_MODEL=
`;

async function envExample(): Promise<string> {
  const ids = readdirSync("skills").sort();
  const sections = await Promise.all(ids.map((id) => skillSection(id)));
  return [MODELS, ...sections].filter((section) => section !== "").join("\n");
}

async function skillSection(id: string): Promise<string> {
  const skill = await loadSkillModule(join(import.meta.dirname, "skills", id, "skill.ts"));
  const fields = Object.entries(skill.config).filter(([, field]) => field.env !== undefined && field.env !== "PATH");
  if (fields.length === 0) return "";
  const lines = fields.map(([, { description, env, required }]) => {
    return `# ${description}${required ? " (required)" : ""}\n#${env}=\n`;
  });
  return `# ${skill.name} (${id})\n${lines.join("")}`;
}

if (process.argv[1] === import.meta.filename) {
  mkdirSync("schemas", { recursive: true });
  for (const [path, content] of await generatedFiles()) writeFileSync(path, content);
}
