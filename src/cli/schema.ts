import { SkillflowError } from "../core/errors.ts";
import { publishedSchemas } from "../core/published.ts";
import { nearest } from "../core/values.ts";
import type { Action } from "./main.ts";
import { jsonText } from "./terminal.ts";

export const printSchema: Action = async (io, [name = ""]) => {
  const schemas = publishedSchemas();
  const schema = schemas.get(name);
  if (!schema) {
    const near = nearest(name, schemas.keys());
    throw new SkillflowError("usage.invalid", `there is no schema "${name}"`, {
      hint: near ? `did you mean ${near}?` : `one of ${[...schemas.keys()].join(", ")}`,
    });
  }
  await io.out(jsonText(schema));
  return 0;
};
