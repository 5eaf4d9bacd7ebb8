/**
 * Cuts the operations that the github skill uses out of GitHub's published OpenAPI description, with one answer each.
 *
 *   npm install --prefix /tmp/openapi @octokit/openapi
 *   node test/services/github-slice.mjs /tmp/openapi/node_modules/@octokit/openapi
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const OPERATIONS = [
  "actions/download-job-logs-for-workflow-run",
  "actions/get-job-for-workflow-run",
  "actions/get-workflow-run",
  "actions/list-jobs-for-workflow-run",
  "actions/list-workflow-runs",
  "actions/list-workflow-runs-for-repo",
  "actions/re-run-workflow",
  "actions/re-run-workflow-failed-jobs",
  "checks/list-for-ref",
  "issues/add-labels",
  "issues/create",
  "issues/create-comment",
  "issues/get",
  "issues/list-comments",
  "issues/list-for-repo",
  "issues/update",
  "pulls/create",
  "pulls/get",
  "pulls/list",
  "pulls/list-files",
  "pulls/list-review-comments",
  "pulls/list-reviews",
  "repos/compare-commits-with-basehead",
  "repos/get",
  "repos/get-combined-status-for-ref",
  "repos/get-commit",
  "repos/get-content",
  "repos/list-branches",
  "repos/list-commits",
  "repos/list-deployment-statuses",
  "repos/list-deployments",
  "repos/list-releases",
  "repos/list-tags",
  "search/code",
  "search/issues-and-pull-requests",
  "users/get-authenticated",
];

const packageDir = process.argv[2];
if (!packageDir) throw new Error("name the folder of an installed @octokit/openapi");

const { version } = JSON.parse(await readFile(join(packageDir, "package.json"), "utf8"));
const spec = JSON.parse(await readFile(join(packageDir, "generated/api.github.com.deref.json"), "utf8"));
const operations = Object.entries(spec.paths)
  .flatMap(([path, item]) => Object.entries(item).map(([method, operation]) => slice(path, method, operation)))
  .filter((operation) => OPERATIONS.includes(operation.id));
const missing = OPERATIONS.filter((id) => !operations.some((operation) => operation.id === id));
if (missing.length > 0) throw new Error(`not in this description: ${missing.join(", ")}`);

const target = new URL("../contracts/data/github-openapi.json", import.meta.url);
const text = JSON.stringify({ source: `@octokit/openapi ${version}`, operations });
await writeFile(target, `${text}\n`);
process.stdout.write(`${operations.length} operations, ${Math.round(text.length / 1024)} KB\n`);

function slice(path, method, operation) {
  const body = operation.requestBody?.content?.["application/json"]?.schema;
  const [status, response] = Object.entries(operation.responses ?? {}).find(([code]) => /^[23]/.test(code)) ?? [];
  const examples = Object.entries(response?.content?.["application/json"]?.examples ?? {});
  return {
    id: operation.operationId,
    method: method.toUpperCase(),
    path,
    parameters: (operation.parameters ?? []).map(({ name, in: place, required = false, schema }) => ({
      name,
      in: place,
      required,
      schema: withoutProse(schema),
    })),
    ...(body ? { body: withoutProse(body) } : {}),
    status: Number(status),
    answers: Object.fromEntries(examples.map(([name, example]) => [name, withoutTemplates(unwrapped(example.value))])),
  };
}

function withoutProse(schema) {
  return withNull(
    rewrite(schema, (key, value) => typeof value === "string" && ["description", "example"].includes(key)),
  );
}

/** OpenAPI 3.0 permits `nullable` next to `oneOf` too, but JSON Schema does not know it. */
function withNull(schema) {
  if (Array.isArray(schema)) return schema.map(withNull);
  if (typeof schema !== "object" || schema === null) return schema;
  const { nullable, ...rest } = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, withNull(value)]),
  );
  return nullable === true ? { anyOf: [rest, { type: "null" }] } : rest;
}

/** Some examples are published as an example object inside an example object. */
function unwrapped(example) {
  return "value" in Object(example) ? example.value : example;
}

/** Repository and user objects are mostly URL templates. */
function withoutTemplates(value) {
  return rewrite(value, (key, item) => typeof item === "string" && key.endsWith("_url") && item.includes("{"));
}

function rewrite(value, isDropped) {
  if (Array.isArray(value)) return value.map((item) => rewrite(item, isDropped));
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([key, item]) => !isDropped(key, item) && key !== "examples");
  return Object.fromEntries(kept.map(([key, item]) => [key, rewrite(item, isDropped)]));
}
