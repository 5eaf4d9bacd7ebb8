import { firstOf, lenient, mentions, resultSchema, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { contains, grafanaTool, NO_ALERTING, text } from "./service.ts";

export const routingTools = [
  grafanaTool({
    name: "get_routing",
    description:
      "Shows whom Grafana notifies: contact points with their kinds, and the policies that route labels to them, with their wait times and mute timings. With an alert's `labels`, only the policies that match it: who was notified, or why no one was. For silences: list_silences.",
    ...TEAM_SNAPSHOT,
    selects: ["labels", "contains"],
    input_schema: z.strictObject({
      labels: z
        .array(z.strictObject({ name: z.string().min(1).max(200), value: z.string().max(300) }))
        .min(1)
        .max(40)
        .optional()
        .describe("All labels of the alert, including alertname and grafana_folder."),
      contains: contains.describe("In a policy's matchers or contact point."),
      limit: z.int().min(1).max(100).optional().describe("Number of policies. Default 30."),
    }),
    output_schema: resultSchema(
      "policies contact_points",
      `policies:[{ depth:number receiver matchers:[text] continues:flag undecided:flag group_by:[text] group_wait
        group_interval repeat_interval muted_in:[text] only_in:[text] }] contact_points:[{ name kinds:[text] }]
        matching:number left_out:number note`,
    ),
    work: async (ask, input) => {
      const root = await ask({ path: [...PROVISIONING, "policies"], ...READS, answer: route });
      const points = await ask({
        path: [...PROVISIONING, "contact-points"],
        ...READS,
        answer: z.array(contactPoint),
      });
      const labels = input.labels && new Map(input.labels.map(({ name, value }) => [name, value]));
      const all = labels ? takenBy(root, labels) : flat(root);
      const matching = all.map(briefOf).filter((one) => mentions([one.matchers, one.receiver], input.contains));
      const { shown, ...counts } = firstOf(matching, input.limit ?? 30);
      const named = new Set(shown.map(({ receiver }) => receiver));
      const used = points.filter(({ name }) => named.has(name));
      const names = [...new Set(used.map(({ name }) => name))];
      return {
        policies: shown,
        contact_points: names.map((name) => ({
          name,
          kinds: used.filter((point) => point.name === name).map(({ type }) => type ?? "unknown"),
        })),
        ...counts,
        note: matching.some(({ undecided }) => undecided) ? UNDECIDED : undefined,
      };
    },
  }),
];

const PROVISIONING = ["api", "v1", "provisioning"] as const;
const READS = { needs: "the alert.notifications:read or alert.provisioning:read permission", instead: NO_ALERTING };
const UNDECIDED = "If `undecided` is true, a regular expression was not evaluated. Check the matchers.";

const texts = lenient(z.array(z.string()));
const route = z.object({
  receiver: text,
  object_matchers: z.array(z.tuple([z.string(), z.string(), z.string()])).nullish(),
  continue: z.boolean().nullish(),
  group_by: texts,
  group_wait: text,
  group_interval: text,
  repeat_interval: text,
  mute_time_intervals: texts,
  active_time_intervals: texts,
  get routes() {
    return z.array(route).nullish();
  },
});
type Route = z.infer<typeof route>;

/** Omits the settings of contact points, because they contain credentials. */
const contactPoint = z.object({ name: z.string(), type: text });

interface Taken {
  readonly route: Route;
  readonly depth: number;
  /** Contact point. Inherited from the parent policy if the policy names none. */
  readonly receiver: string | undefined;
  readonly undecided?: boolean;
}

function flat(one: Route, depth = 0, above?: string): readonly Taken[] {
  const receiver = one.receiver || above;
  return [{ route: one, depth, receiver }, ...(one.routes ?? []).flatMap((child) => flat(child, depth + 1, receiver))];
}

/** Returns the deepest policies that match, as Grafana does. Stops after a match unless it has `continue`. */
function takenBy(one: Route, labels: ReadonlyMap<string, string>, depth = 0, above?: string): readonly Taken[] {
  const receiver = one.receiver || above;
  const taken: Taken[] = [];
  for (const child of one.routes ?? []) {
    const fits = fitsAll(child, labels);
    if (fits === false) continue;
    const below = takenBy(child, labels, depth + 1, receiver);
    taken.push(...(fits === "unknown" ? below.map((each) => ({ ...each, undecided: true })) : below));
    if (fits === true && !child.continue) return taken;
  }
  return taken.some(({ undecided }) => !undecided) ? taken : [...taken, { route: one, depth, receiver }];
}

function fitsAll({ object_matchers }: Route, labels: ReadonlyMap<string, string>): boolean | "unknown" {
  const told = (object_matchers ?? []).map(([name, sign, value]) => fitsOne(labels.get(name) ?? "", sign, value));
  if (told.includes(false)) return false;
  return told.includes("unknown") ? "unknown" : true;
}

function fitsOne(own: string, sign: string, value: string): boolean | "unknown" {
  if (sign === "=") return own === value;
  if (sign === "!=") return own !== value;
  const expression = plainExpression(value);
  return expression ? expression.test(own) === (sign === "=~") : "unknown";
}

/** Compiles a simple pattern that means the same in Go and JavaScript and is fast to match, otherwise undefined. */
function plainExpression(value: string): RegExp | undefined {
  const repetitions = value.match(/[*+?]/g)?.length ?? 0;
  const isPlain = /^[\w\s|.*+?:/@=,()-]*$/.test(value) && repetitions <= 3 && !/(^|[|*+?()])[*+?]/.test(value);
  if (!isPlain) return undefined;
  try {
    return new RegExp(`^(?:${value})$`);
  } catch {
    return undefined;
  }
}

function briefOf({ route: one, depth, receiver, undecided }: Taken) {
  return {
    ...{ depth, receiver, continues: one.continue || undefined, undecided },
    matchers: one.object_matchers?.map(([name, sign, value]) => `${name}${sign}${JSON.stringify(value)}`),
    ...{ group_by: one.group_by ?? undefined, group_wait: one.group_wait, group_interval: one.group_interval },
    repeat_interval: one.repeat_interval,
    ...{ muted_in: one.mute_time_intervals, only_in: one.active_time_intervals },
  };
}
