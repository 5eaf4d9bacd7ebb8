import type { Json, JsonObject } from "skillflow";
import { type Loopback, type LoopbackRequest, sendJson, startLoopback } from "skillflow/testing";
import * as z from "zod";
import { type Answer, type Asked, type RestService, type Script, sendAnswer, swollen } from "./rest.ts";
import { PERIOD, type Vendor } from "./vendor.ts";

/** CloudWatch's actions as AWS publishes them: unknown requests are refused, answers are AWS's examples. */

export const ACCESS_KEY = "AKIACWCANARY01234567";
export const SECRET = "cwcanary/SecretKey+0123456789abcdefghij";
export const SESSION = "cwcanarySessionToken0123456789==";
export const REGION = "eu-west-1";

interface Action {
  readonly service: "logs" | "monitoring";
  readonly input: z.ZodType;
  readonly answer: Json;
}

export async function startCloudWatch(script: Script = () => undefined): Promise<RestService> {
  const refusals: string[] = [];
  const operations: string[] = [];
  const loopback: Loopback = await startLoopback((request, response) => {
    const operation = String(request.headers["x-amz-target"] ?? "").replace(/^.*\./, "");
    const action = ACTIONS[operation];
    const body = request.body === "" ? {} : (JSON.parse(request.body) as JsonObject);
    const fault = action ? faultOf(action, body, request) : `no action ${operation}`;
    if (!action || fault) {
      refusals.push(fault ?? "");
      return sendJson(response, 400, { __type: "SerializationException", Message: fault ?? "" });
    }
    if (!isSigned(request, action))
      return sendJson(response, 400, {
        __type: "UnrecognizedClientException",
        message: "The security token is invalid.",
      });
    const before = operations.filter((name) => name === operation).length;
    operations.push(operation);
    const asked: Asked = { operation, path: "/", query: {}, body, before, example: action.answer };
    return sendAnswer(response, { body: action.answer, ...script(asked) });
  });
  return { ...loopback, refusals, operations };
}

/** Answers of maximum size. */
export function flood({ operation, example }: Asked): Answer {
  if (operation === "StartQuery") return { body: example };
  const told = JSON.parse(JSON.stringify(swollen(example, ["message", "HistorySummary"]))) as JsonObject;
  const { nextToken: _, NextToken: __, ...body } = told;
  return { body };
}

function faultOf(action: Action, body: JsonObject, { method, url, headers }: LoopbackRequest): string | undefined {
  if (method !== "POST" || url !== "/") return `${method} ${url} is not an action`;
  const [prefix, version] =
    action.service === "logs" ? ["Logs_20140328.", "1.1"] : ["GraniteServiceVersion20100801.", "1.0"];
  if (!String(headers["x-amz-target"]).startsWith(prefix)) return `${headers["x-amz-target"]} is another service's`;
  if (headers["content-type"] !== `application/x-amz-json-${version}`) return `${headers["content-type"]} is not taken`;
  const input = action.input.safeParse(body);
  return input.success ? undefined : input.error.message;
}

function isSigned({ headers }: LoopbackRequest, { service }: Action): boolean {
  const day = String(headers["x-amz-date"]).slice(0, 8);
  const credential = `AWS4-HMAC-SHA256 Credential=${ACCESS_KEY}/${day}/${REGION}/${service}/aws4_request, SignedHeaders=`;
  const names = "content-type;host;x-amz-date;x-amz-security-token;x-amz-target, Signature=";
  const told = headers.authorization ?? "";
  return (
    told.startsWith(credential + names) && /[0-9a-f]{64}$/.test(told) && headers["x-amz-security-token"] === SESSION
  );
}

const seconds = z.int().min(1_000_000_000).max(9_999_999_999);
const milliseconds = z.int().min(1_000_000_000_000);
const text = z.string().min(1);
const token = text.optional();
const dimension = z.strictObject({ Name: text, Value: text });
const types = z.array(z.enum(["MetricAlarm", "CompositeAlarm"]));
const metric = z.strictObject({ Namespace: text, MetricName: text, Dimensions: z.array(dimension).optional() });
const id = z.string().regex(/^[a-z]\w*$/);
const period = z.int().multipleOf(60);

const ACTIONS: Readonly<Record<string, Action>> = {
  DescribeLogGroups: {
    service: "logs",
    input: z.strictObject({ logGroupNamePattern: token, limit: z.int().min(1).max(50), nextToken: token }),
    answer: {
      logGroups: [
        {
          arn: "arn:aws:logs:eu-west-1:123456789012:log-group:/aws/lambda/checkout:*",
          creationTime: 1_700_000_000_000,
          logGroupName: "/aws/lambda/checkout",
          metricFilterCount: 0,
          retentionInDays: 30,
          storedBytes: 123_456_789,
        },
      ],
      nextToken: "groups-2",
    },
  },
  FilterLogEvents: {
    service: "logs",
    input: z.strictObject({
      logGroupName: text,
      logStreamNamePrefix: token,
      filterPattern: token,
      startTime: milliseconds,
      endTime: milliseconds,
      limit: z.int().min(1).max(10_000),
      nextToken: token,
    }),
    answer: {
      events: [
        {
          eventId: "3",
          ingestionTime: 1_769_846_401_000,
          logStreamName: "2026/01/31/[$LATEST]ab",
          message: "ERROR payment failed: 502\n",
          timestamp: 1_769_846_400_000,
        },
      ],
      searchedLogStreams: [],
    },
  },
  StartQuery: {
    service: "logs",
    input: z.strictObject({
      logGroupNames: z.array(text).min(1).max(50),
      queryString: text,
      startTime: seconds,
      endTime: seconds,
      limit: z.int().min(1).max(10_000).optional(),
    }),
    answer: { queryId: "12ab3456-12ab-123a-789e-1234567890ab" },
  },
  GetQueryResults: {
    service: "logs",
    input: z.strictObject({ queryId: text }),
    answer: {
      results: [
        [
          { field: "bin(5m)", value: "2026-01-31 08:00:00.000" },
          { field: "count(*)", value: "12" },
          { field: "@ptr", value: "CmEKJgoiMTIz" },
        ],
      ],
      statistics: { bytesScanned: 81_349_723, recordsMatched: 12, recordsScanned: 610_956 },
      status: "Complete",
    },
  },
  StopQuery: { service: "logs", input: z.strictObject({ queryId: text }), answer: { success: true } },
  ListMetrics: {
    service: "monitoring",
    input: z.strictObject({ Namespace: token, MetricName: token, RecentlyActive: z.literal("PT3H"), NextToken: token }),
    answer: {
      Metrics: [
        { Namespace: "AWS/Lambda", MetricName: "Errors", Dimensions: [{ Name: "FunctionName", Value: "checkout" }] },
        { Namespace: "AWS/Lambda", MetricName: "Errors", Dimensions: [] },
      ],
    },
  },
  GetMetricData: {
    service: "monitoring",
    input: z.strictObject({
      MetricDataQueries: z
        .array(
          z.union([
            z.strictObject({ Id: id, Expression: text, Period: period }),
            z.strictObject({ Id: id, MetricStat: z.strictObject({ Metric: metric, Period: period, Stat: text }) }),
          ]),
        )
        .min(1)
        .max(500),
      StartTime: seconds,
      EndTime: seconds,
      ScanBy: z.enum(["TimestampAscending", "TimestampDescending"]),
    }),
    answer: {
      Messages: [],
      MetricDataResults: [
        {
          Id: "q",
          Label: "Errors",
          StatusCode: "Complete",
          Timestamps: [1_769_846_400, 1_769_846_460, 1_769_846_520],
          Values: [0, 12, 3],
        },
      ],
    },
  },
  DescribeAlarms: {
    service: "monitoring",
    input: z.strictObject({
      StateValue: z.enum(["OK", "ALARM", "INSUFFICIENT_DATA"]).optional(),
      AlarmNamePrefix: token,
      AlarmTypes: types.optional(),
      MaxRecords: z.int().min(1).max(100),
      NextToken: token,
    }),
    answer: {
      CompositeAlarms: [
        {
          AlarmName: "checkout-down",
          AlarmRule: "ALARM(checkout-errors) AND ALARM(checkout-slow)",
          StateValue: "ALARM",
          StateReason: "checkout-errors transitioned to ALARM",
          StateTransitionedTimestamp: 1_769_846_520.5,
        },
      ],
      MetricAlarms: [
        {
          AlarmName: "checkout-errors",
          AlarmDescription: "Checkout answers errors.",
          ActionsEnabled: true,
          AlarmActions: ["arn:aws:sns:eu-west-1:123456789012:page"],
          StateValue: "ALARM",
          StateReason: "Threshold Crossed: 1 datapoint [12.0] was greater than the threshold (5.0).",
          StateUpdatedTimestamp: 1_769_846_520.123,
          StateTransitionedTimestamp: 1_769_846_520.123,
          MetricName: "Errors",
          Namespace: "AWS/Lambda",
          Statistic: "Sum",
          Dimensions: [{ Name: "FunctionName", Value: "checkout" }],
          Period: 60,
          EvaluationPeriods: 3,
          DatapointsToAlarm: 2,
          Threshold: 5,
          ComparisonOperator: "GreaterThanThreshold",
        },
      ],
      NextToken: "alarms-2",
    },
  },
  DescribeAlarmHistory: {
    service: "monitoring",
    input: z.strictObject({
      AlarmName: token,
      AlarmTypes: types.optional(),
      HistoryItemType: z.enum(["StateUpdate", "Action", "ConfigurationUpdate"]),
      StartDate: seconds,
      EndDate: seconds,
      ScanBy: z.enum(["TimestampAscending", "TimestampDescending"]),
      MaxRecords: z.int().min(1).max(100),
      NextToken: token,
    }),
    answer: {
      AlarmHistoryItems: [
        {
          AlarmName: "checkout-errors",
          AlarmType: "MetricAlarm",
          Timestamp: 1_769_846_520.123,
          HistoryItemType: "StateUpdate",
          HistorySummary: "Alarm updated from OK to ALARM",
          HistoryData:
            '{"version":"1.0","oldState":{"stateValue":"OK","stateReason":"was fine"},"newState":{"stateValue":"ALARM","stateReason":"Threshold \\"5.0\\" Crossed"}}',
        },
      ],
    },
  },
};

const LAMBDA = { ...PERIOD, namespace: "AWS/Lambda", metric: "Errors" };

export const vendor: Vendor = {
  start: startCloudWatch,
  env: (url) => ({
    AWS_ACCESS_KEY_ID: ACCESS_KEY,
    AWS_SECRET_ACCESS_KEY: SECRET,
    AWS_SESSION_TOKEN: SESSION,
    AWS_REGION: REGION,
    AWS_ENDPOINT_URL: url,
  }),
  secrets: [ACCESS_KEY, SECRET, SESSION],
  isWrite: () => false,
  asked: ["list_alarms", {}],
  questions: {
    "What is wrong, and since when?": {
      asks: [
        ["list_alarms", {}],
        ["get_alarm_history", { alarm: "checkout-errors", ...PERIOD }],
      ],
      tells: ["greater than the threshold", "2026-01-31T08:02", "Alarm updated from OK to ALARM"],
    },
    "How bad is it?": {
      asks: [
        ["list_metrics", { namespace: "AWS/Lambda" }],
        ["get_metric_data", { ...LAMBDA, stat: "Sum", dimensions: [{ name: "FunctionName", value: "checkout" }] }],
      ],
      tells: ["FunctionName", '"value":12'],
    },
    "What exactly failed?": {
      asks: [
        ["query_logs", { ...PERIOD, groups: ["/aws/lambda/checkout"], query: "stats count(*) by bin(5m)" }],
        ["filter_log_events", { ...PERIOD, group: "/aws/lambda/checkout", filter: "ERROR" }],
      ],
      tells: ["08:00:00", "payment failed: 502"],
    },
  },
  inputs: {
    cloudwatch_filter_log_events: { from: null, to: null, cursor: null },
    cloudwatch_query_logs: { from: null, to: null },
    cloudwatch_get_alarm_history: { from: null, to: null, cursor: null },
    cloudwatch_get_metric_data: { from: null, to: null, expression: null, stat: null },
  },
};
