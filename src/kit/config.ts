import type { ConfigField } from "../core/skill/skill.ts";

/** Config fields of skills. */

type Field = Omit<ConfigField, "env">;
type Form = Exclude<ConfigField["format"], undefined>;

/** Fields that are each read from the environment variable of their name. */
export function variables(fields: Readonly<Record<string, Field>>): Readonly<Record<string, ConfigField>> {
  return Object.fromEntries(Object.entries(fields).map(([env, field]) => [env, { ...field, env }]));
}

export function secret(format: Form, description: string): Field {
  return { description, format };
}

/** Value that users need to read, such as an address or a name. */
export function setting(format: Form, description: string): Field {
  return { description, format, secret: false };
}

export function required(field: Field): Field {
  return { ...field, required: true };
}
