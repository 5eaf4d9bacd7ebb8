import { readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { describeTools, type ToolDescriptor } from "../../src/core/skill/skill.ts";
import { loadSkillModule } from "../../src/loaders/formats/module/skill-module.ts";

const root = join(import.meta.dirname, "../../skills");

let tools: readonly ToolDescriptor[] = [];
beforeAll(async () => {
  const ids = readdirSync(root).sort();
  const skills = await Promise.all(ids.map((id) => loadSkillModule(join(root, id, "skill.ts"))));
  tools = skills.flatMap((skill) => describeTools(skill, skill.tools));
});

function exposed(isMeant: (tool: ToolDescriptor) => boolean): readonly string[] {
  return tools.flatMap((tool) => (isMeant(tool) ? [tool.exposed] : [])).sort();
}

it("the built-in tools whose results the team's own systems write are distinguished from those with untrusted text", () => {
  expect(exposed(({ origin }) => origin === "team")).toEqual([
    "betterstack_get_monitor",
    "betterstack_get_monitor_availability",
    "betterstack_list_heartbeats",
    "betterstack_list_monitors",
    "cloudwatch_get_alarm_history",
    "cloudwatch_get_metric_data",
    "cloudwatch_list_alarms",
    "cloudwatch_list_log_groups",
    "cloudwatch_list_metrics",
    "datadog_describe_metric",
    "datadog_find_metrics",
    "datadog_get_dependencies",
    "datadog_get_monitor",
    "datadog_list_monitors",
    "datadog_query_metrics",
    "elasticsearch_cluster_health",
    "elasticsearch_list_fields",
    "elasticsearch_list_indices",
    "git_blame",
    "git_changed_files",
    "git_diff",
    "git_log",
    "git_read_file",
    "git_refs",
    "git_show",
    "git_survey",
    "github_compare_commits",
    "github_get_commit",
    "github_list_commits",
    "github_list_deployments",
    "github_list_refs",
    "gitlab_compare",
    "gitlab_get_commit",
    "gitlab_get_pipeline",
    "gitlab_list_commits",
    "gitlab_list_deployments",
    "gitlab_list_pipelines",
    "grafana_get_dashboard",
    "grafana_get_routing",
    "grafana_list_alerts",
    "grafana_list_annotations",
    "grafana_list_datasources",
    "grafana_list_rules",
    "grafana_list_silences",
    "grafana_search_dashboards",
    "kubernetes_get_object",
    "kubernetes_get_pod",
    "kubernetes_list_events",
    "kubernetes_list_helm_releases",
    "kubernetes_list_kinds",
    "kubernetes_list_nodes",
    "kubernetes_list_objects",
    "kubernetes_list_pods",
    "kubernetes_list_workloads",
    "kubernetes_rollout_history",
    "kubernetes_top_nodes",
    "kubernetes_top_pods",
    "loki_list_labels",
    "loki_list_streams",
    "pagerduty_get_escalation_policy",
    "pagerduty_list_changes",
    "pagerduty_list_on_call",
    "pagerduty_list_services",
    "postgres_check_health",
    "postgres_describe_table",
    "postgres_explain",
    "postgres_list_indexes",
    "postgres_list_locks",
    "postgres_list_queries",
    "postgres_list_replication",
    "postgres_list_tables",
    "postgres_top_statements",
    "prometheus_list_alerts",
    "prometheus_list_labels",
    "prometheus_list_metrics",
    "prometheus_list_rules",
    "prometheus_list_series",
    "prometheus_list_targets",
    "prometheus_query",
    "prometheus_query_range",
  ]);
});

it("of the built-in tools only GitHub's and GitLab's may write public text, as far as is known before the call", () => {
  expect(exposed(({ audience }) => audience === "public")).toEqual([
    "github_add_comment",
    "github_add_labels",
    "github_create_issue",
    "github_create_pr",
    "github_rerun_workflow",
    "github_update_issue",
    "gitlab_add_comment",
    "gitlab_create_issue",
  ]);
});

it("the built-in tools read private data, except the channels of notification, and a call of a function reads too", () => {
  const open = exposed(({ effect, reads }) => effect === "read" && reads !== "private");
  expect(open).toEqual(["notification_channels"]);
  expect(exposed(({ effect, reads }) => effect === "write" && reads !== undefined)).toEqual(["supabase_rpc"]);
});

it("each built-in tool that writes declares the input fields that determine its target", () => {
  for (const { exposed: name, effect, targets, input_schema } of tools) {
    if (effect !== "write") continue;
    expect(targets, name).toBeDefined();
    const fields = Object.keys(input_schema.properties as object);
    expect(fields, name).toEqual(expect.arrayContaining(targets ?? []));
  }
  const all = Object.fromEntries(tools.map(({ exposed: name, targets }) => [name, targets]));
  expect(all).toMatchObject({
    github_create_issue: ["repository"],
    gitlab_create_issue: ["project"],
    jira_create_issue: ["project"],
    linear_create_issue: ["team"],
    slack_send_thread_reply: ["channel", "thread_ts"],
    notification_send: ["channels"],
  });
});
