import {
  each,
  firstOf,
  plainMarkerOf,
  resultSchema,
  ServiceFault,
  TEAM_SNAPSHOT,
  textLike,
  WRITE_ONCE,
  withoutMarkers,
} from "skillflow/internal";
import * as z from "zod";
import { ALERTMANAGER, grafanaTool, NO_ALERTING, text } from "./service.ts";

const READS = "the alert.silences:read permission";
const WRITES = "the alert.silences:create and alert.silences:write permissions";

export const silenceTools = [
  grafanaTool({
    name: "list_silences",
    description:
      "Lists active and pending silences: their labels, end time, author and reason. Shows whether an alert without a notification was silenced.",
    ...TEAM_SNAPSHOT,
    selects: ["expired"],
    input_schema: z.strictObject({
      expired: z.boolean().optional().describe("Include expired silences. Default false."),
      limit: z.int().min(1).max(100).optional().describe("Default 20."),
    }),
    output_schema: resultSchema(
      "silences",
      "silences:[{ id state matchers:[text] from until by comment }] left_out:number",
    ),
    work: async (ask, input) => {
      const all = await ask({ path: LIST, needs: READS, instead: NO_ALERTING, answer: z.array(silence) });
      const matching = all
        .filter(({ status }) => input.expired || status?.state !== "expired")
        .sort((a, b) => ((a.endsAt ?? "") > (b.endsAt ?? "") ? -1 : 1));
      const { shown, left_out } = firstOf(matching, input.limit ?? 20);
      return { silences: shown.map(briefOf), left_out };
    },
  }),
  grafanaTool({
    name: "silence_alerts",
    description:
      "Suppresses notifications of the alerts that have all the given labels, for a limited time. The alerts keep firing, and list_alerts still lists them. A repeated call adds no second silence.",
    ...WRITE_ONCE,
    targets: [],
    input_schema: z.strictObject({
      labels: z
        .array(z.strictObject({ name: z.string().min(1).max(200), value: z.string().min(1).max(500) }))
        .min(1)
        .max(10)
        .describe("Each must be equal: alertname, and labels that identify the instance."),
      minutes: z.int().min(5).max(1440),
      reason: z.string().min(1).max(500).describe("Shown to people who find the alert silenced."),
    }),
    output_schema: resultSchema("silence_id", "silence_id until existing:flag"),
    work: async (ask, input, context) => {
      const mark = plainMarkerOf(context, input);
      const all = await ask({ path: LIST, needs: READS, instead: NO_ALERTING, answer: z.array(silence) });
      const known = all.find(({ comment, status }) => comment?.includes(mark) && status?.state !== "expired");
      if (known) return { silence_id: known.id, until: known.endsAt, existing: true };
      const now = Date.now();
      const until = new Date(now + input.minutes * 60_000).toISOString();
      const { silenceID } = await ask({
        path: LIST,
        body: {
          matchers: input.labels.map((label) => ({ ...label, isRegex: false, isEqual: true })),
          startsAt: new Date(now).toISOString(),
          endsAt: until,
          createdBy: "skillflow",
          comment: `${input.reason} ${mark}`,
        },
        effect: "write",
        needs: WRITES,
        answer: z.object({ silenceID: z.string() }),
      });
      return { silence_id: silenceID, until };
    },
  }),
  grafanaTool({
    name: "end_silence",
    description: "Ends a silence that silence_alerts created. Does not change one that people created.",
    ...WRITE_ONCE,
    targets: [],
    input_schema: z.strictObject({
      silence_id: textLike(/^[A-Za-z0-9-]+$/, 40),
    }),
    output_schema: resultSchema("silence_id ended", "silence_id ended:flag existing:flag"),
    work: async (ask, { silence_id }) => {
      const path = [...ALERTMANAGER, "silence", silence_id];
      const known = await ask({ path, needs: READS, instead: "list_silences lists the ids.", answer: silence });
      if (known.status?.state === "expired") return { silence_id, ended: true, existing: true };
      if (!MARK.test(known.comment ?? ""))
        throw new Error(`Silence ${silence_id} was made by ${known.createdBy ?? "people"}, so only they can end it.`);
      await endOnce(() =>
        ask({ path, method: "DELETE", effect: "write", needs: WRITES, isText: true, answer: z.string() }),
      );
      return { silence_id, ended: true };
    },
  }),
];

const LIST = [...ALERTMANAGER, "silences"];
const MARK = /\(skillflow call [0-9a-f]{24}\)/;

const matcher = z.object({
  ...each(z.string(), "name value"),
  isRegex: z.boolean().nullish(),
  isEqual: z.boolean().nullish(),
});
const silence = z.object({
  id: z.string(),
  matchers: z.array(matcher).nullish(),
  ...each(text, "startsAt endsAt createdBy comment"),
  status: z.object({ state: text }).nullish(),
});

function briefOf({ id, matchers, startsAt, endsAt, createdBy, comment, status }: z.infer<typeof silence>) {
  return {
    id,
    state: status?.state,
    matchers: matchers?.map(({ name, value, isRegex, isEqual }) => {
      return `${name}${isEqual === false ? "!" : "="}${isRegex ? "~" : isEqual === false ? "=" : ""}${JSON.stringify(value)}`;
    }),
    from: startsAt,
    until: endsAt,
    by: createdBy,
    comment: withoutMarkers(comment ?? ""),
  };
}

/** Ends a silence. A 404 means that it has already ended. */
async function endOnce(end: () => Promise<unknown>): Promise<void> {
  try {
    await end();
  } catch (error) {
    if (!(error instanceof ServiceFault && error.status === 404)) throw error;
  }
}
