import { defined, isObject, type JsonObject, type JsonSchema } from "../../core/base/values.ts";
import type { ToolDescriptor } from "../../core/skill/skill.ts";

/**
 * Descriptions of parameters that built-in tools leave out, because the text of their skill explains them. MCP clients read
 * no such text. A key is a parameter, or a skill or a tool and a parameter; the longest key that fits counts.
 */
const TEXTS: Readonly<Record<string, string>> = {
  alarm: "Exact name of the alarm",
  add_labels: "Labels to add",
  "blocks.elements": "Texts of a context block",
  "blocks.fields": "Texts of a section, shown in two columns",
  "blocks.text": "Text of a header or section",
  "blocks.type": "Kind of block",
  branch: "Name of the branch",
  channels: "Channels to send to; default all that are configured",
  "condition.column": "Column to compare",
  "condition.op": "How the column is compared",
  "condition.value": "Value to compare with; a list for in and not_in",
  cursor: "Where the next page starts, as an earlier result gives it",
  deployment: "Name of the deployment",
  "dimensions.name": "Name of the dimension",
  "dimensions.value": "Value of the dimension",
  draft: "Whether the pull request is a draft",
  email: "Email address of the user",
  end: "End of the time range, ISO 8601",
  end_line: "Last line to read",
  environment: "Name of the environment",
  event_id: "Id of the event, 32 hexadecimal digits",
  expression: "Metric math expression over the ids of other queries",
  "fields.name": "Label of the value",
  "fields.value": "Value to show",
  from: "Start of the time range: relative, such as now-2h, or ISO 8601",
  groups: "Names of the log groups",
  incident_id: "Id of the incident, as the list of incidents gives it",
  include_comments: "Whether comments are searched too",
  indexes: "Log indexes to search; default all",
  issue: "Identifier of the issue, such as ENG-123, or its id",
  "sentry.issue": "Id of the issue, or its short id such as SHOP-12",
  ignore_case: "Whether the case of letters is ignored",
  jql: "JQL query",
  kind: "Kind of entry to list",
  "labels.name": "Name of the label",
  "labels.value": "Value of the label",
  labels: "Labels to set",
  language: "Language of the code",
  limit: "Maximum number of results",
  limits: "Limits of the run of the code",
  "logs.ignore_case": "Whether contains, excludes and matches ignore the case",
  "logs.files": "Path, glob (*, **, ?, {a,b}) or a list of them",
  "logs.since": "Start of the time range: ISO 8601 (UTC unless it has a zone) or epoch",
  "logs.until": "End of the time range: ISO 8601 (UTC unless it has a zone) or epoch",
  metric: "Full name of the metric",
  minutes: "How long, in minutes",
  monitor_id: "Id of the monitor, as the list of monitors gives it",
  name: "Name of the object",
  name_prefix: "Start of the names to list",
  number: "Number of the issue, or of the pull or merge request",
  offset: "Number of results to skip",
  "order.column": "Column to sort by",
  "order.descending": "Whether the largest value comes first",
  other: "Identifier of the other issue, such as ENG-124, or its id",
  page: "Number of the page, from 1",
  path: "Path in the repository",
  pod: "Name of the pod; give a pod or a selector",
  previous: "Whether to read the log of the previous, ended container",
  priority: "Priority of the issue",
  ref: "Branch, tag or commit; default the default branch",
  remove_labels: "Labels to remove",
  run_id: "Id of the workflow run",
  service: "Name of the service",
  severities: "Severities to list; default all",
  severity: "Severity of the message",
  "shown.text": "The text itself",
  "shown.type": "Whether the text is Slack's mrkdwn or plain text",
  silence_id: "Id of the silence",
  since: "Start of the time range, ISO 8601",
  since_minutes: "How far back to read, in minutes",
  start: "Start of the time range, ISO 8601",
  start_line: "First line to read",
  state: "State to list; default all",
  "github.update_issue.state": "New state of the issue",
  state_reason: "Reason for the new state",
  stats_period: "Length of the time range until now, such as 24h or 14d",
  status: "Status to list; default all",
  stream_prefix: "Start of the names of the log streams to read",
  subtitle: "Second line of the link",
  "supabase.contains": "Text that the name contains, ignoring case",
  tag: "Tag that the dashboards have",
  target_branch: "Branch that the requests merge into",
  text: "Text to add",
  title: "Title",
  to: "End of the time range: relative, such as now-1h, or ISO 8601; default now",
  "betterstack.to": "Last day, as YYYY-MM-DD",
  "jira.assign_issue.to": "Name, email address or account id of the person",
  "jira.transition_issue.to": "Name of the new status",
  "supabase.to": "End of the time range, ISO 8601; default now",
  trace_id: "Id of the trace, in hexadecimal digits",
  ts: "`ts` of the message",
  until: "End of the time range, ISO 8601",
  updated_after: "Start of the time range of updates, ISO 8601",
  urgency: "Urgency to list; default all",
  url: "Address, http or https",
  urls: "Addresses to check, http or https",
};

/** The input schema of a built-in tool with a description for each parameter; `others` are the tools of its skill. */
export function describedInput(tool: ToolDescriptor, others: readonly ToolDescriptor[]): JsonSchema {
  const textOf = (path: string): string | undefined => {
    const { skill, name } = tool;
    const keys = [`${skill}.${name}.${path}`, `${skill}.${path}`, path];
    const key = keys.find((each) => Object.hasOwn(TEXTS, each));
    return key === undefined ? textAmong(others, path) : TEXTS[key];
  };
  return described(tool.input_schema, "", textOf) as JsonSchema;
}

/** How another tool of the skill describes a parameter of the same name. */
function textAmong(tools: readonly ToolDescriptor[], path: string): string | undefined {
  for (const { input_schema } of tools) {
    const own = isObject(input_schema.properties) ? input_schema.properties[path] : undefined;
    if (isObject(own) && typeof own.description === "string") return own.description;
  }
  return undefined;
}

function described(schema: unknown, path: string, textOf: (path: string) => string | undefined): unknown {
  if (Array.isArray(schema)) return schema.map((each) => described(each, path, textOf));
  if (!isObject(schema)) return schema;
  const entries = Object.entries(schema).map(([key, value]) => {
    if (NESTED.has(key)) return [key, described(value, path, textOf)];
    const parts = isObject(value) ? Object.entries(value) : [];
    if (key === "$defs")
      return [key, Object.fromEntries(parts.map(([name, def]) => [name, described(def, name, textOf)]))];
    return [key, key === "properties" ? Object.fromEntries(parts.map(describeOne(path, textOf))) : value];
  });
  return Object.fromEntries(entries);
}

const NESTED: ReadonlySet<string> = new Set(["items", "anyOf", "oneOf", "allOf"]);

function describeOne(path: string, textOf: (path: string) => string | undefined) {
  return ([name, property]: [string, unknown]): [string, unknown] => {
    const place = path === "" ? name : `${path}.${name}`;
    const inner = described(property, place, textOf) as JsonObject;
    const isBare = isObject(inner) && typeof inner.description !== "string";
    return [name, isBare ? { ...inner, ...defined("description", textOf(place)) } : inner];
  };
}
