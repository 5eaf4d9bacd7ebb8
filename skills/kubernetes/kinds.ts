import {
  type Ask,
  clip,
  each,
  firstOf,
  lenient,
  pick,
  resultSchema,
  TEAM_SNAPSHOT,
  textLike,
} from "skillflow/internal";
import { stringify } from "yaml";
import * as z from "zod";
import { name, namespace, selector, text } from "./fields.ts";
import { kubernetesTool, METADATA, oneNamespace, pathOf, readPages } from "./service.ts";
import { partOf, shownOf } from "./shown.ts";

const kind = textLike(/^[A-Za-z][A-Za-z0-9.-]*$/, 253).describe(
  "Job, hpa, ingresses, applications.argoproj.io; with a version: certificates.v1.cert-manager.io.",
);

export const kindTools = [
  kubernetesTool({
    name: "list_kinds",
    description:
      "Lists the kinds of objects in the cluster, those of operators too. If you know the kind, call list_objects or get_object directly.",
    ...TEAM_SNAPSHOT,
    selects: ["contains"],
    input_schema: z.strictObject({
      contains: z.string().min(1).max(100).optional().describe("In the kind or its group: argoproj, autoscal."),
      limit: z.int().min(1).max(200).optional(),
    }),
    output_schema: resultSchema(
      "kinds",
      "kinds:[{ kind name version namespaced:flag short:[text] }] matching:number left_out:number note",
    ),
    work: async ({ ask }, input) => {
      const { known, stale } = await kindsOf(ask);
      const words = input.contains?.toLowerCase() ?? "";
      const matching = known.filter((one) => `${one.kind} ${one.name}`.toLowerCase().includes(words));
      const { shown, ...counts } = firstOf(matching, input.limit ?? 60);
      return {
        kinds: shown.map((one) => ({
          ...pick(one, "kind name version namespaced"),
          short: one.short.length > 0 ? one.short : undefined,
        })),
        ...counts,
        note: stale.length > 0 ? `These API groups do not respond now: ${stale.join(", ")}.` : undefined,
      };
    },
  }),
  kubernetesTool({
    name: "list_objects",
    description:
      "Lists objects of any kind with the columns that kubectl shows: jobs, autoscalers, volume claims, ingresses, certificates, Argo CD applications (sync, health). list_pods and list_workloads show more of their kinds.",
    ...TEAM_SNAPSHOT,
    selects: ["namespace", "selector", "contains"],
    echoes: ["kind"],
    input_schema: z.strictObject({
      kind,
      namespace,
      selector,
      contains: z.string().min(1).max(200).optional().describe("In any column. Case-insensitive: OutOfSync, False."),
      limit: z.int().min(1).max(100).optional(),
    }),
    output_schema: resultSchema("objects", "kind version objects:[any] matching:number left_out:number note"),
    work: async ({ ask, own }, input) => {
      const { chosen, others } = await kindNamed(ask, input.kind);
      const where = chosen.namespaced ? (input.namespace ?? own.namespace) : "*";
      const { pages, unread } = await readPages(ask, {
        path: pathOf(chosen.version, where, chosen.resource),
        query: { labelSelector: input.selector },
        accept: TABLE,
        needs: `permission to list ${chosen.name} in ${where}`,
        answer: tableAnswer,
      });
      const all = pages.flatMap(({ rows, columnDefinitions }) =>
        rows.map((row) => rowOf(row, columnDefinitions, where)),
      );
      const words = input.contains?.toLowerCase() ?? "";
      const matching = all.filter((one) => JSON.stringify(one).toLowerCase().includes(words));
      const { shown, ...counts } = firstOf(matching, input.limit ?? 30);
      return {
        kind: chosen.name,
        version: chosen.version,
        objects: shown,
        ...counts,
        note: unread ?? (all.length === 0 ? `There is no such object in ${where}.` : alsoNamed(others)),
      };
    },
  }),
  kubernetesTool({
    name: "get_object",
    description:
      "Reads one object of any kind as YAML, status first. Hides Secrets, ConfigMaps, environment variables and passwords. Up to 12,000 characters: `part` reads a part of a larger one.",
    ...TEAM_SNAPSHOT,
    selects: ["part"],
    echoes: ["kind"],
    input_schema: z.strictObject({
      kind,
      name,
      namespace,
      part: textLike(/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/, 200)
        .optional()
        .describe("status.conditions, spec.template, status.resources.0."),
    }),
    output_schema: resultSchema("kind object", "kind version object note"),
    work: async ({ ask, own }, input) => {
      const { chosen, others } = await kindNamed(ask, input.kind);
      const where = chosen.namespaced ? oneNamespace(input.namespace ?? own.namespace) : "*";
      const isSecret = chosen.version === "v1" && chosen.resource === "secrets";
      const told = await ask({
        path: pathOf(chosen.version, where, chosen.resource, input.name),
        ...(isSecret ? { accept: METADATA } : {}),
        needs: `permission to get ${chosen.name} in ${where}`,
        instead: "list_objects lists the names.",
        answer: isSecret ? z.object({ metadata: z.unknown() }) : z.record(z.string(), z.unknown()),
      });
      const object = input.part ? partOf(shownOf(told), input.part) : shownOf(told);
      const written = stringify(object, { lineWidth: 0, aliasDuplicateObjects: false });
      const cut = written.length > LONGEST_OBJECT ? "The object is cut. Read the rest with `part`." : undefined;
      return {
        kind: chosen.name,
        version: chosen.version,
        object: clip(written, LONGEST_OBJECT),
        note: isSecret
          ? "For a Secret, only the name and labels are read, never its contents."
          : (cut ?? alsoNamed(others)),
      };
    },
  }),
];

const LONGEST_OBJECT = 12_000;

/** Media type of tables with the columns that kubectl shows, as defined by the kind's author. */
const TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1";

/** Media type that lists all kinds in two responses. Requires Kubernetes 1.27 or later. */
const DISCOVERY = ["v2", "v2beta1"]
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .join(",");

const resource = z.object({
  resource: z.string(),
  responseKind: z.object({ kind: z.string() }).nullish(),
  ...each(text, "scope singularResource"),
  shortNames: z.array(z.string()).nullish(),
  verbs: z.array(z.string()).nullish(),
});
const version = z.object({ version: z.string(), freshness: text, resources: z.array(resource).nullish() });
const group = z.object({ metadata: z.object({ name: text }).nullish(), versions: z.array(version) });
const discovery = z.object({ items: z.array(group) });

interface Kind {
  readonly kind: string;
  readonly resource: string;
  /** Name with its group, such as `jobs.batch`. Kinds of the core group have no suffix. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly namespaced: boolean;
  readonly short: readonly string[];
  readonly names: readonly string[];
}

/** Lists the cluster's kinds in its preferred order, core kinds first. */
async function kindsOf(ask: Ask) {
  const known: Kind[] = [];
  const stale: string[] = [];
  for (const root of ["api", "apis"]) {
    const { items } = await ask({ path: [root], accept: DISCOVERY, answer: discovery });
    for (const { metadata, versions } of items) {
      const group = metadata?.name ?? "";
      for (const { version, freshness, resources } of versions) {
        if (freshness === "Stale") stale.push(`${group}/${version}`);
        const readable = (resources ?? []).filter(({ verbs }) => verbs?.includes("list"));
        known.push(...readable.map((one) => kindOf(one, group, version)));
      }
    }
  }
  return { known, stale };
}

function kindOf(told: z.infer<typeof resource>, group: string, version: string): Kind {
  const kindName = told.responseKind?.kind ?? told.resource;
  const short = told.shortNames ?? [];
  return {
    kind: kindName,
    resource: told.resource,
    name: group ? `${told.resource}.${group}` : told.resource,
    group,
    version: group ? `${group}/${version}` : version,
    namespaced: told.scope !== "Cluster",
    short,
    names: [kindName, told.resource, told.singularResource ?? "", ...short].map((one) => one.toLowerCase()),
  };
}

/** Finds a kind as kubectl does: by kind, plural or short name, with an optional group or version and group. */
async function kindNamed(ask: Ask, asked: string) {
  const { known, stale } = await kindsOf(ask);
  const [own = "", ...rest] = asked.toLowerCase().split(".");
  const place = rest.join(".");
  const fitting = known.filter(({ names, group, version }) => {
    return names.includes(own) && ["", group, version.split("/").toReversed().join(".")].includes(place);
  });
  const [chosen] = fitting;
  const others = [...new Set(fitting.map(({ name: full }) => full))].filter((full) => full !== chosen?.name);
  if (chosen) return { chosen, others };
  const silent = stale.length > 0 ? ` These API groups do not respond now: ${stale.join(", ")}.` : "";
  throw new Error(`The cluster has no kind ${asked}. list_kinds lists the existing kinds.${silent}`);
}

function alsoNamed(others: readonly string[]): string | undefined {
  return others.length > 0 ? `Other kinds with this name: ${others.join(", ")}.` : undefined;
}

const metadata = z.object({ name: text, namespace: text });
const tableAnswer = z.object({
  metadata: z.object({ continue: text, remainingItemCount: lenient(z.number()) }).nullish(),
  columnDefinitions: z.array(z.object({ name: z.string(), priority: z.number().nullish() })),
  rows: z
    .array(z.object({ cells: z.array(z.unknown()), object: lenient(z.object({ metadata })) }))
    .nullish()
    .transform((rows) => rows ?? []),
});
type Table = z.infer<typeof tableAnswer>;

/** Converts a row, without the columns that kubectl shows only with `-o wide`. */
function rowOf({ cells, object }: Table["rows"][number], columns: Table["columnDefinitions"], where: string) {
  const pairs = columns.flatMap(({ name: column, priority }, index) => {
    const cell = cells[index];
    return priority || cell === null || cell === undefined || cell === ""
      ? []
      : [[column.toLowerCase(), cell] as const];
  });
  const namespace = where === "*" ? object?.metadata.namespace : undefined;
  return { namespace, ...Object.fromEntries(pairs) };
}
