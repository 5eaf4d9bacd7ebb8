import * as z from "zod";
import { projectConfigSchema } from "../document/config.ts";
import { listenFileSchema } from "../document/listen/listen-file.ts";
import { policySchema } from "../document/policy.ts";
import { workflowSchema } from "../document/workflow/workflow.ts";
import { eventSchema } from "../engine/event/event.ts";
import { planSchema } from "../engine/event/operation.ts";
import { RUN_SCHEMA, runRecordSchema } from "../engine/event/record.ts";
import { findingSchema } from "../engine/finding/json.ts";
import { recheckSchema } from "../engine/recheck/answer.ts";
import { askSchema } from "../engine/record/ask.ts";
import { statsSchema } from "../engine/record/stats.ts";
import { refusalSchema, unansweredSchema } from "../engine/result/refusal.ts";
import { resultSchema } from "../engine/result/result.ts";
import { skillDefinitionSchema } from "../skill/formats/skill-definition.ts";
import { toolsManifestSchema } from "../skill/formats/tools-manifest.ts";
import { backtestResultSchema } from "./testing/backtest-result.ts";
import { scriptSchema } from "./testing/script.ts";
import { testFileSchema } from "./testing/test-file.ts";

/** Generates the JSON Schemas of our documents, by name, from the schemas that the loaders use. */
export function publishedSchemas(): ReadonlyMap<string, unknown> {
  const titled = (schema: z.ZodType, title: string) => {
    const { $schema, ...rest } = z.toJSONSchema(schema, { io: "input", reused: "inline" });
    return { $schema, title, ...rest };
  };
  return new Map([
    ["workflow", titled(workflowSchema(), "A workflow document")],
    ["skill", titled(skillDefinitionSchema(), "A skill, without the handlers of its tools")],
    ["tools", titled(toolsManifestSchema, "A skill folder's tools.json")],
    ["result", titled(z.union([resultSchema(), refusalSchema()]), "Result of a run (skillflow.result/1)")],
    ["plan", titled(planSchema(), "Writes that a run planned (skillflow.plan/1)")],
    ["stats", titled(statsSchema(), "Counts over runs (skillflow.stats/1)")],
    [
      "ask",
      titled(z.union([askSchema(), unansweredSchema("ask")]), "Answer to a question about a run (skillflow.ask/1)"),
    ],
    [
      "recheck",
      titled(z.union([recheckSchema(), unansweredSchema("recheck")]), "Recheck of a run (skillflow.recheck/1)"),
    ],
    ["backtest", titled(backtestResultSchema(), "Results of a backtest (skillflow.backtest/1)")],
    ["script", titled(scriptSchema(), "A script: model replies, in order")],
    ["test", titled(testFileSchema(), "Tests of a workflow (*.test.yml)")],
    ["listen", titled(listenFileSchema(), "Webhooks that start runs (listen.yml)")],
    ["finding", titled(findingSchema(), "Checked answer of a run: finding.json in templates")],
    ["event", titled(eventSchema(), "One event of a run")],
    ["record", titled(runRecordSchema(), `The first line of a run's file (${RUN_SCHEMA})`)],
    ["config", titled(projectConfigSchema(), "A .skillflow.yml")],
    ["policy", titled(policySchema(), "A policy: upper bounds of all runs")],
  ]);
}
