import {
  type Ask,
  each,
  lenient,
  plainMarkerOf,
  resultSchema,
  ServiceFault,
  textLike,
  WRITE_ONCE,
} from "skillflow/internal";
import * as z from "zod";
import { number, text } from "./answers.ts";
import { monitorId } from "./fields.ts";
import { wholeNumber } from "./monitors.ts";
import { datadogTool, pageUrl } from "./service.ts";

const PERMISSION = "monitors_downtime";

const muting = z.strictObject({
  monitor_id: monitorId,
  minutes: z.int().min(5).max(10_080),
  scope: textLike(/^[A-Za-z0-9_.:/*() -]+$/, 300)
    .optional()
    .describe("Groups, such as env:staging AND host:web-1. Default: all."),
  reason: z.string().min(1).max(500).describe("Shown to people who find the monitor muted."),
});

export const muteTools = [
  datadogTool({
    name: "mute_monitor",
    description: "Silences a monitor, or one scope of it, for a limited time.",
    ...WRITE_ONCE,
    targets: [],
    input_schema: muting,
    output_schema: resultSchema("downtime_id monitor_id", "downtime_id monitor_id:number scope end existing:flag url"),
    work: async (ask, input, context) => {
      const monitor = wholeNumber(input.monitor_id);
      const marker = plainMarkerOf(context, input);
      const known = await findDowntime(ask, monitor, marker);
      const downtime = known ?? (await createDowntime(ask, { ...input, monitor_id: monitor }, marker));
      const { scope, schedule } = downtime.attributes;
      return {
        downtime_id: downtime.id,
        monitor_id: monitor,
        scope,
        end: schedule?.end,
        existing: known ? true : undefined,
        url: pageUrl(context.config, `monitors/${monitor}`),
      };
    },
  }),
  datadogTool({
    name: "unmute_monitor",
    description: "Ends the downtimes that mute_monitor created for a monitor. Lists those that people created.",
    ...WRITE_ONCE,
    targets: [],
    input_schema: z.strictObject({ monitor_id: monitorId }),
    output_schema: resultSchema(
      "ended left",
      "monitor_id:number ended:[text] left:[{ downtime_id scope end message }] url",
    ),
    work: async (ask, input, context) => {
      const monitor = wholeNumber(input.monitor_id);
      const found: Downtime[] = [];
      for await (const downtime of currentDowntimes(ask)) {
        if (downtime.attributes.monitor_identifier?.monitor_id === monitor) found.push(downtime);
      }
      const own = found.filter(({ attributes }) => MARK.test(attributes.message ?? ""));
      for (const { id } of own) await endDowntime(ask, id);
      return {
        monitor_id: monitor,
        ended: own.map(({ id }) => id),
        left: found
          .filter((downtime) => !own.includes(downtime))
          .map(({ id, attributes: { scope, schedule, message } }) => {
            return { downtime_id: id, scope, end: schedule?.end, message };
          }),
        url: pageUrl(context.config, `monitors/${monitor}`),
      };
    },
  }),
];

const MARK = /\(skillflow call [0-9a-f]{24}\)/;

const PAGE_SIZE = 100;

const downtimeAnswer = z.object({
  id: z.string(),
  attributes: z.object({
    ...each(text, "message scope"),
    monitor_identifier: lenient(z.object({ monitor_id: z.number().nullish() })),
    schedule: lenient(z.object({ end: text })),
  }),
});
type Downtime = z.infer<typeof downtimeAnswer>;

const downtimesMeta = lenient(z.object({ page: lenient(z.object({ total_filtered_count: number })) }));

/** Finds the downtime that an earlier attempt of the same call created. */
async function findDowntime(ask: Ask, monitor: number, marker: string): Promise<Downtime | undefined> {
  for await (const downtime of currentDowntimes(ask)) {
    const { monitor_identifier, message } = downtime.attributes;
    if (monitor_identifier?.monitor_id === monitor && message?.includes(marker)) return downtime;
  }
  return undefined;
}

/** Yields each current downtime once, with its message, which Datadog does not return for one monitor. */
async function* currentDowntimes(ask: Ask): AsyncGenerator<Downtime> {
  const seen = new Set<string>();
  for (;;) {
    const offset = seen.size;
    const { data, meta } = await ask({
      path: ["api", "v2", "downtime"],
      query: { current_only: true, "page[limit]": PAGE_SIZE, "page[offset]": offset },
      needs: PERMISSION,
      answer: z.object({ data: z.array(downtimeAnswer), meta: downtimesMeta }),
    });
    for (const downtime of data) {
      if (!seen.has(downtime.id)) yield downtime;
      seen.add(downtime.id);
    }
    // A page may be shorter than requested. It repeats rows if downtimes began since, or if Datadog ignores the offset.
    const total = meta?.page?.total_filtered_count;
    if (seen.size === offset || (total && seen.size >= total)) return;
  }
}

async function endDowntime(ask: Ask, id: string): Promise<void> {
  const path = ["api", "v2", "downtime", id];
  try {
    await ask({ path, method: "DELETE", effect: "write", needs: PERMISSION, isText: true, answer: z.string() });
  } catch (error) {
    // The downtime already ended, or another caller canceled it.
    if (!(error instanceof ServiceFault && error.status === 404)) throw error;
  }
}

async function createDowntime(ask: Ask, input: z.infer<typeof muting>, marker: string): Promise<Downtime> {
  const { monitor_id, minutes, scope = "*", reason } = input;
  const end = new Date(Date.now() + minutes * 60_000).toISOString();
  const { data } = await ask({
    path: ["api", "v2", "downtime"],
    body: {
      data: {
        type: "downtime",
        attributes: {
          monitor_identifier: { monitor_id },
          scope,
          message: `${plain(reason)}\n\n${marker}`,
          schedule: { end },
        },
      },
    },
    effect: "write",
    needs: PERMISSION,
    answer: z.object({ data: downtimeAnswer }),
  });
  return data;
}

/** Disables mentions and template variables: Datadog notifies @names and expands double braces. */
function plain(reason: string): string {
  return reason.replaceAll("@", "(at)").replace(/\{(?=\{)/g, "{ ");
}
