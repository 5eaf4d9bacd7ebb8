import type { JsonObject } from "../../../core/base/values.ts";
import type { Access, ApiDescription, ApiOperation, ApiParameter } from "../../../core/skill/openapi/description.ts";
import { fillTemplate } from "../../templates/fill.ts";

/** Generates a skill that reads from an API, as plain code that its team can change. */

export interface ApiSkill {
  readonly id: string;
  readonly prefix: string;
  readonly api: ApiDescription;
  readonly operations: readonly ApiOperation[];
}

export function apiSkillFiles(skill: ApiSkill): readonly (readonly [path: string, text: string])[] {
  return [
    ["SKILL.md", instruction(skill)],
    ["skill.mjs", code(skill)],
  ];
}

export function apiSkillVariables({ prefix, api }: Pick<ApiSkill, "prefix" | "api">) {
  const fields = Object.entries(configOf(prefix, api));
  return fields.map(([name, { required }]) => ({ name, needed: required === true }));
}

export function sentVariables({ prefix, api }: Pick<ApiSkill, "prefix" | "api">): readonly string[] {
  return api.access.flatMap(keysOf).map((end) => `${prefix}_${end}`);
}

function instruction({ id, api, operations }: ApiSkill): string {
  const title = plain(api.title);
  const named = `Reads from ${title} through its API: ${operations.map(({ name }) => name).join(", ")}.`;
  return fillTemplate("openapi/instruction.txt", {
    id,
    title,
    description: literal(named.length <= 1024 ? named : `Reads from ${title} through its API.`),
    tools: operations.map(({ name, summary }) => `- \`{{${name}}}\`: ${plain(summary)}\n`).join(""),
  });
}

/** Removes Markdown syntax and skill placeholders, because an untrusted author may have written the description. */
function plain(text: string): string {
  return text
    .replace(/[`{}[\]<>*_#|\\!]/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

interface Field {
  readonly description: string;
  readonly env: string;
  readonly required?: true;
  readonly secret?: false;
}

function configOf(prefix: string, { title, address, access }: ApiDescription): Record<string, Field> {
  const field = (end: string, parts: Omit<Field, "env">): [string, Field] => {
    const env = `${prefix}_${end}`;
    return [env, { ...parts, env }];
  };
  const place = address === undefined ? "Base URL of the API: https://…" : `Base URL of the API, if not ${address}`;
  const description = `Credential for ${plain(title)}; read access is enough`;
  return Object.fromEntries([
    field("URL", { description: place, ...(address === undefined ? { required: true } : {}), secret: false }),
    ...access.flatMap(keysOf).map((end) => {
      return field(end, { description, required: true, ...(end === "USERNAME" ? { secret: false } : {}) });
    }),
  ]);
}

/** Returns the ends of the names of the variables with credentials. */
function keysOf(access: Access): readonly string[] {
  if (access.kind === "basic") return ["USERNAME", "PASSWORD"];
  return ["name" in access ? endOf(access.name) : "TOKEN"];
}

function endOf(name: string): string {
  const words = name.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
  return words.replace(/^_|_$/g, "") || "KEY";
}

// ---- code

function code(skill: ApiSkill): string {
  const { id, prefix, api, operations } = skill;
  const title = plain(api.title);
  const keys = sentVariables(skill).join(" or ");
  const fields = Object.entries(configOf(prefix, api)).map(([name, field]) => `    ${name}: ${literal(field)},\n`);
  return fillTemplate("openapi/skill.txt", {
    title,
    id: literal(id),
    name: literal(title),
    description: literal(`Reads from ${title} through its API`),
    fields: fields.join(""),
    tools: operations.map(toolText).join(""),
    access: api.access.map((one) => `  ${accessText(one, prefix)}\n`).join(""),
    prefix,
    address: literal(api.address ?? ""),
    advice: keys === "" ? "This skill sends no key: add one." : `${keys} is wrong, expired or revoked.`,
  });
}

function accessText(access: Access, prefix: string): string {
  const of = (end: string) => `config.${prefix}_${end}`;
  switch (access.kind) {
    case "bearer":
      return `headers.authorization = \`Bearer \${${of("TOKEN")}}\`;`;
    case "basic":
      return `headers.authorization = \`Basic \${Buffer.from(\`\${${of("USERNAME")}}:\${${of("PASSWORD")}}\`).toString("base64")}\`;`;
    case "header":
      return `headers[${literal(access.name)}] = ${of(endOf(access.name))};`;
    case "query":
      return `url.searchParams.set(${literal(access.name)}, ${of(endOf(access.name))});`;
  }
}

function toolText({ name, path, summary, parameters }: ApiOperation): string {
  const required = parameters.filter(({ isRequired }) => isRequired).map(({ key }) => key);
  const schema = {
    type: "object",
    properties: Object.fromEntries(parameters.map(({ key, schema }) => [key, schema])),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
  const sent = Object.fromEntries(parameters.map(sentText));
  return `    {
      name: ${literal(name)},
      description: ${literal(summary)},
      effect: "read",
      input_schema: ${indented(schema)},
      handler: (input, context) => ask(${literal(path)}, ${indented(sent)}, input, context),
    },
`;
}

function sentText({ key, name, place, between, isDeep }: ApiParameter): [string, JsonObject] {
  const isList = between !== undefined && place === "query";
  return [
    key,
    { in: place, ...(name === key ? {} : { name }), ...(isList ? { between } : {}), ...(isDeep ? { deep: true } : {}) },
  ];
}

/** Returns a value as a JavaScript literal. JSON always is one, whatever its strings contain. */
function literal(value: unknown): string {
  return JSON.stringify(value);
}

function indented(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll("\n", "\n      ");
}
