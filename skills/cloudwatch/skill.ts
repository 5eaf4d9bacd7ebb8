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
  description: "Logs, Logs Insights, metrics and alarms with their history in Amazon CloudWatch. It changes nothing.",
  category: "observability",
  config: {
    AWS_REGION: {
      description: "The region to read, such as eu-west-1.",
      required: true,
      env: "AWS_REGION",
      format: "name",
      secret: false,
    },
    AWS_ACCESS_KEY_ID: {
      description:
        "An access key with the permissions logs:DescribeLogGroups, FilterLogEvents, StartQuery, GetQueryResults and StopQuery, cloudwatch:ListMetrics, GetMetricData, DescribeAlarms and DescribeAlarmHistory. Without it, the AWS credential chain (profiles, single sign-on, web identities, containers, instances) is used if the package @aws-sdk/credential-providers is installed next to skillflow. Without the package, use `aws configure export-credentials --format env`.",
      env: "AWS_ACCESS_KEY_ID",
      format: "token",
    },
    AWS_SECRET_ACCESS_KEY: { description: "The access key's secret.", env: "AWS_SECRET_ACCESS_KEY", format: "token" },
    AWS_SESSION_TOKEN: {
      description: "For temporary keys: the session token.",
      env: "AWS_SESSION_TOKEN",
      format: "token",
    },
    AWS_PROFILE: {
      description: "Without keys: the profile for the AWS credential chain.",
      env: "AWS_PROFILE",
      format: "text",
      secret: false,
    },
    ...Object.fromEntries(
      CHAIN.map((name) => [
        name,
        { description: "Read by the AWS credential chain.", env: name, format: "text", secret: false },
      ]),
    ),
    AWS_ENDPOINT_URL: {
      description: "One address instead of AWS's own for logs and metrics, such as a proxy's or an emulator's.",
      env: "AWS_ENDPOINT_URL",
      format: "base_url",
      secret: false,
    },
  },
  probe: describeAccess,
  lacks: async (run) => lackingCredentials(run),
  tools: [...alarmTools, ...metricTools, ...logTools, ...insightTools],
});
