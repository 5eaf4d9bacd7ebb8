import { statSync } from "node:fs";
import { messageOf, usageError } from "../../core/base/errors.ts";
import { parseJson } from "../../core/base/values.ts";
import { type ApiDescription, describeApi } from "../../core/skill/openapi/description.ts";
import { readRegular } from "../../files/files.ts";
import { parseYaml } from "../../loaders/text/yaml-text.ts";

/** Size limit in bytes. The largest published descriptions have about 12 MB. */
const LARGEST = 40_000_000;

/** Reads an API description from a JSON or YAML file. Throws `usage.invalid` if it is not one. */
export function readApiDescription(path: string, shown: string): ApiDescription {
  const described = describeApi(readDocument(path, shown));
  if (typeof described !== "string") return described;
  throw usageError(`${shown} is not an API description: ${described}`);
}

function readDocument(path: string, shown: string): unknown {
  let text: string;
  try {
    if (statSync(path).size > LARGEST) throw new Error(`it is larger than ${LARGEST / 1e6} MB`);
    text = readRegular(path).toString("utf8");
  } catch (error) {
    throw usageError(`${shown} cannot be read: ${messageOf(error)}`);
  }
  const json = parseJson(text);
  if (json !== undefined) return json;
  const { value, problems } = parseYaml(text);
  const [problem] = problems;
  if (!problem) return value;
  const place = problem.line === undefined ? shown : `${shown}:${problem.line}`;
  throw usageError(`${place}: ${problem.message}`);
}
