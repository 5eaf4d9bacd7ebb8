import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import formats from "ajv-formats";
import { HtmlValidate } from "html-validate";
import { parse as readJUnit } from "junit2json";
import { describe, expect, test } from "vitest";
import { reportHtml } from "../../src/reports/html/report.ts";
import { junitXml } from "../../src/reports/junit.ts";
import { sarifOfRun } from "../../src/reports/sarif.ts";
import { HOSTILE, triageRun } from "./triage-run.ts";

/** The reports of a run are accepted by other programs' readers and schemas. */

const RUNS = [
  ["that succeeded", triageRun()],
  ["that failed", triageRun({ fails: true })],
  ["full of strangers' text", triageRun({ text: HOSTILE.join(" "), fails: true })],
] as const;

const SARIF = join(import.meta.dirname, "..", "contracts", "data", "sarif-2.1.0.json");

/** The published schema: draft-04, of which nothing but the names of its own keys has changed since. */
function sarifSchema(): object {
  const { id: _, $schema: __, ...schema } = JSON.parse(readFileSync(SARIF, "utf8"));
  return schema;
}

let compiled: ValidateFunction | undefined;
/** Compiles the schema at its first use. */
function sarifValidator(): ValidateFunction {
  if (compiled) return compiled;
  const ajv = new Ajv({ strict: false, allErrors: true });
  formats.default(ajv);
  compiled = ajv.compile(sarifSchema());
  return compiled;
}

describe.each(RUNS)("a run %s", (_, run) => {
  test("has an HTML report that follows the standard", async () => {
    const validator = new HtmlValidate({ extends: ["html-validate:standard"] });
    const { results } = await validator.validateString(reportHtml(run));
    expect(results.flatMap(({ messages }) => messages.map(({ ruleId, message }) => `${ruleId}: ${message}`))).toEqual(
      [],
    );
  });

  test("has a SARIF report that fits the published schema", () => {
    const validate = sarifValidator();
    validate(JSON.parse(sarifOfRun(run)));
    expect(validate.errors ?? []).toEqual([]);
  });

  test("has a JUnit report that a reader accepts", async () => {
    const read = await readJUnit(junitXml(run));
    const suites = read !== null && read !== undefined && "testsuite" in read ? (read.testsuite ?? []) : [];
    const [suite] = suites;
    expect(suite?.testcase?.length).toBe(suite?.tests);
    expect(suite?.testcase?.filter(({ failure }) => failure !== undefined).length).toBe(suite?.failures);
    expect(suite?.tests).toBeGreaterThan(3);
  });
});
