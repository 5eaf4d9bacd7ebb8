import { defineSkill } from "skillflow";
import { describeAccess } from "./access.ts";
import { alarmTools } from "./alarms.ts";
import { CHAIN, lackingCredentials } from "./credentials.ts";
import { insightTools } from "./insights.ts";
import { logTools } from "./logs.ts";
import { metricTools } from "./metrics.ts";

export default defineSkill({
  id: "cloudwatch",
  name: "CloudWatch",
  description: "Logs, Logs Insights, metrics and alarms with their history of Amazon CloudWatch. It changes nothing.",
  category: "observability",
  config: {
    AWS_REGION: {
      description: "The region that is read, such as eu-west-1.",
      required: true,
      env: "AWS_REGION",
      format: "name",
      secret: false,
    },
    AWS_ACCESS_KEY_ID: {
      description:
        "An access key whose owner may logs:DescribeLogGroups, FilterLogEvents, StartQuery, GetQueryResults and StopQuery, cloudwatch:ListMetrics, GetMetricData, DescribeAlarms and DescribeAlarmHistory. Without it AWS's own chain of profiles, single sign-on, web identities, containers and instances is asked, where the package @aws-sdk/credential-providers is installed beside skillflow; `aws configure export-credentials --format env` does without the package.",
      env: "AWS_ACCESS_KEY_ID",
      format: "token",
    },
    AWS_SECRET_ACCESS_KEY: { description: "The access key's secret.", env: "AWS_SECRET_ACCESS_KEY", format: "token" },
    AWS_SESSION_TOKEN: {
      description: "With temporary keys: their session's token.",
      env: "AWS_SESSION_TOKEN",
      format: "token",
    },
    AWS_PROFILE: {
      description: "Without keys: the profile that AWS's own chain takes.",
      env: "AWS_PROFILE",
      format: "text",
      secret: false,
    },
    ...Object.fromEntries(
      CHAIN.map((name) => [
        name,
        { description: "Read by AWS's own chain.", env: name, format: "text", secret: false },
      ]),
    ),
    AWS_ENDPOINT_URL: {
      description: "One address in place of AWS's own for logs and metrics, such as a proxy's or an emulator's.",
      env: "AWS_ENDPOINT_URL",
      format: "base_url",
      secret: false,
    },
  },
  probe: describeAccess,
  lacks: async (run) => lackingCredentials(run),
  tools: [...alarmTools, ...metricTools, ...logTools, ...insightTools],
});
