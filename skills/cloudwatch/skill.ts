import { defineSkill } from "skillflow";
import { required, secret, setting, variables, wholePages } from "skillflow/internal";
import * as z from "zod";
import { alarmTools } from "./alarms.ts";
import { CHAIN, lackingCredentials } from "./credentials.ts";
import { insightTools } from "./insights.ts";
import { logTools } from "./logs.ts";
import { metricTools } from "./metrics.ts";
import { withCloudWatch } from "./service.ts";

export default defineSkill({
  id: "cloudwatch",
  name: "CloudWatch",
  description: "Logs, Logs Insights, metrics and alarms with their history in Amazon CloudWatch. It changes nothing.",
  category: "observability",
  config: variables({
    AWS_REGION: required(setting("name", "The region to read, such as eu-west-1.")),
    AWS_ACCESS_KEY_ID: secret(
      "token",
      "An access key with the permissions logs:DescribeLogGroups, FilterLogEvents, StartQuery, GetQueryResults and StopQuery, cloudwatch:ListMetrics, GetMetricData, DescribeAlarms and DescribeAlarmHistory. Without it, the AWS credential chain (profiles, single sign-on, web identities, containers, instances) is used if the package @aws-sdk/credential-providers is installed next to skillflow. Without the package, use `aws configure export-credentials --format env`.",
    ),
    AWS_SECRET_ACCESS_KEY: secret("token", "The access key's secret."),
    AWS_SESSION_TOKEN: secret("token", "For temporary keys: the session token."),
    AWS_PROFILE: setting("text", "Without keys: the profile for the AWS credential chain."),
    ...Object.fromEntries(CHAIN.map((name) => [name, setting("text", "Read by the AWS credential chain.")])),
    AWS_ENDPOINT_URL: setting(
      "base_url",
      "One address instead of AWS's own for logs and metrics, such as a proxy's or an emulator's.",
    ),
  }),
  probe: async (context) => {
    const answer = z.object({ MetricAlarms: z.array(z.unknown()).nullish() });
    await withCloudWatch("monitoring", context, (act) => act("DescribeAlarms", { input: { MaxRecords: 1 }, answer }));
    return `can read alarms of ${context.config["AWS_REGION"]}`;
  },
  lacks: async (run) => lackingCredentials(run),
  tools: [...alarmTools, ...metricTools, ...logTools, ...insightTools].map(wholePages),
});
