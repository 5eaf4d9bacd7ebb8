import {
  clip,
  each,
  isoPeriod,
  isoTime,
  lastHour,
  periodOf,
  pick,
  resultSchema,
  TEAM_RANGE,
  TEAM_SNAPSHOT,
} from "skillflow/internal";
import * as z from "zod";
import { cursor, monitoringTool, namedOf, number, pairs, secondsOf, text } from "./service.ts";

const alarmName = z.string().min(1).max(255);

const ALARM = "name state since reason description namespace metric dimensions:any condition rule";

export const alarmTools = [
  monitoringTool({
    name: "list_alarms",
    description:
      "Lists alarms in state ALARM, or in another state: why, since when, metric and threshold. Call this first. For earlier state changes: get_alarm_history.",
    ...TEAM_SNAPSHOT,
    selects: ["state", "name_prefix"],
    input_schema: z.strictObject({
      state: z.enum(["ALARM", "INSUFFICIENT_DATA", "OK"]).optional().describe("Default ALARM."),
      name_prefix: alarmName.optional(),
      limit: z.int().min(1).max(100).optional().describe("Default 20."),
      cursor,
    }),
    output_schema: resultSchema("alarms", `alarms:[{ ${ALARM} }] next_cursor note`),
    work: async (act, input) => {
      const state = input.state ?? "ALARM";
      const found = await act("DescribeAlarms", {
        input: {
          StateValue: state,
          AlarmNamePrefix: input.name_prefix,
          AlarmTypes: ["MetricAlarm", "CompositeAlarm"],
          MaxRecords: input.limit ?? 20,
          NextToken: input.cursor,
        },
        answer: alarmsAnswer,
      });
      const alarms = [...(found.CompositeAlarms ?? []), ...(found.MetricAlarms ?? [])].map(briefOf);
      return {
        alarms,
        next_cursor: found.NextToken ?? undefined,
        note: alarms.length === 0 && !found.NextToken ? `No alarm in this region is in state ${state}.` : undefined,
      };
    },
  }),
  monitoringTool({
    name: "get_alarm_history",
    description:
      "Lists the history of one alarm or of all, newest first: state changes with reasons, actions, configuration changes. Shows when a problem began and whether the alarm flaps.",
    ...TEAM_RANGE,
    selects: ["kind"],
    echoes: ["from", "to"],
    input_schema: z.strictObject({
      alarm: alarmName.optional(),
      kind: z.enum(["StateUpdate", "Action", "ConfigurationUpdate"]).optional().describe("Default StateUpdate."),
      from: lastHour.from,
      to: lastHour.to.describe("`from` and `to`: now-2h or ISO 8601. Default: the last day."),
      limit: z.int().min(1).max(100).optional().describe("Default 30."),
      cursor,
    }),
    output_schema: resultSchema("items", "items:[{ at alarm what reason }] from to next_cursor note"),
    work: async (act, input, context) => {
      const period = periodOf({ from: "now-1d", ...input }, context.now());
      const found = await act("DescribeAlarmHistory", {
        input: {
          AlarmName: input.alarm,
          AlarmTypes: ["MetricAlarm", "CompositeAlarm"],
          HistoryItemType: input.kind ?? "StateUpdate",
          StartDate: secondsOf(period.from),
          EndDate: secondsOf(period.to),
          ScanBy: "TimestampDescending",
          MaxRecords: input.limit ?? 30,
          NextToken: input.cursor,
        },
        instead: "list_alarms lists names.",
        answer: z.object({ AlarmHistoryItems: z.array(item), NextToken: text }),
      });
      return {
        items: found.AlarmHistoryItems.map(({ Timestamp, AlarmName, HistorySummary, HistoryData }) => {
          return { at: timeOf(Timestamp), alarm: AlarmName, what: HistorySummary, reason: reasonOf(HistoryData) };
        }),
        ...isoPeriod(period),
        next_cursor: found.NextToken ?? undefined,
        note:
          found.AlarmHistoryItems.length === 0 && !found.NextToken
            ? "Nothing happened to this alarm in this period."
            : undefined,
      };
    },
  }),
];

const common = { AlarmName: z.string(), AlarmDescription: text, StateValue: text, StateReason: text };
const moments = { StateTransitionedTimestamp: number, StateUpdatedTimestamp: number };
const alarm = z.object({
  ...common,
  ...moments,
  ...each(text, "Namespace MetricName"),
  Dimensions: pairs,
  ...each(text, "Statistic ExtendedStatistic ComparisonOperator"),
  ...each(number, "Threshold Period EvaluationPeriods DatapointsToAlarm"),
  AlarmRule: text,
});
const alarmsAnswer = z
  .object({ MetricAlarms: z.array(alarm).nullish(), CompositeAlarms: z.array(alarm).nullish(), NextToken: text })
  .refine((told) => told.MetricAlarms || told.CompositeAlarms, { path: ["MetricAlarms"] });
const item = z.object({ Timestamp: number, AlarmName: text, HistorySummary: text, HistoryData: text });

function briefOf(one: z.infer<typeof alarm>) {
  return {
    name: one.AlarmName,
    state: one.StateValue,
    since: timeOf(one.StateTransitionedTimestamp ?? one.StateUpdatedTimestamp),
    ...pick(one, "reason:StateReason description:AlarmDescription namespace:Namespace metric:MetricName"),
    dimensions: one.Dimensions ? namedOf(one.Dimensions) : undefined,
    condition: conditionOf(one),
    rule: one.AlarmRule && clip(one.AlarmRule, 1000),
  };
}

const OPERATORS: Readonly<Record<string, string>> = {
  GreaterThanThreshold: ">",
  GreaterThanOrEqualToThreshold: ">=",
  LessThanThreshold: "<",
  LessThanOrEqualToThreshold: "<=",
};

function conditionOf(one: z.infer<typeof alarm>): string | undefined {
  const { ComparisonOperator: operator, Threshold, Period, EvaluationPeriods: all } = one;
  if (!operator || Threshold === null || Threshold === undefined) return undefined;
  const stat = one.Statistic ?? one.ExtendedStatistic ?? "value";
  return `${stat} ${OPERATORS[operator] ?? operator} ${Threshold}, ${one.DatapointsToAlarm ?? all} of ${all} times in ${Period ?? "?"} s`;
}

function timeOf(seconds: number | null | undefined): string | undefined {
  return typeof seconds === "number" ? isoTime(seconds * 1000) : undefined;
}

/** Extracts the readable reason from the JSON of a state change, which may be cut off. */
function reasonOf(data: string | null | undefined): string | undefined {
  const [, state = ""] = (data ?? "").split(/"newState"\s*:/, 2);
  const [, reason, end] = /"stateReason"\s*:\s*"((?:[^"\\]|\\.)*)("?)/s.exec(state) ?? [];
  return end ? clip(String(JSON.parse(`"${reason}"`)), 500) : undefined;
}
