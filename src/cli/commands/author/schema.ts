import { usageError } from "../../../core/base/errors.ts";
import { didYouMean } from "../../../core/base/values.ts";
import { publishedSchemas } from "../../../core/outward/published.ts";
import { PROTOCOL_FORMS, PROTOCOL_TOOLS } from "../../../core/skill/formats/protocol-tools.ts";
import { text } from "../../flags.ts";
import type { Action, Io } from "../../io.ts";
import { printJson } from "../../terminal/terminal.ts";

export const printSchema: Action = async (io, [name = ""], flags) => {
  if (name === PROTOCOL) return printTools(io, text(flags, "for"));
  if (flags.for !== undefined) throw usageError(`--for works only with schema ${PROTOCOL}`);
  const schemas = publishedSchemas();
  const schema = schemas.get(name);
  if (!schema) {
    const known = [...schemas.keys(), PROTOCOL];
    throw usageError(`there is no schema "${name}"`, didYouMean(name, known) ?? `one of ${known.join(", ")}`);
  }
  return printJson(io, schema);
};

/** Name of the tool list for clients of `serve`, which is not a document schema. */
const PROTOCOL = "protocol";

async function printTools(io: Io, provider: string | undefined): Promise<number> {
  const form = provider ?? PROTOCOL;
  const shape = Object.entries(PROTOCOL_FORMS).find(([known]) => known === form)?.[1];
  if (!shape || provider === PROTOCOL) {
    throw usageError(`--for must be openai or anthropic, not ${form}`);
  }
  return printJson(io, PROTOCOL_TOOLS.map(shape));
}
