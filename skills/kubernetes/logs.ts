import { type Ask, clip, firstOf, lastLines, resultSchema, ServiceFault, SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { name, namespace, selector } from "./fields.ts";
import { kubernetesTool, listOf, oneNamespace, pathOf } from "./service.ts";

const contains = z.string().min(1).max(200).optional().describe("Only lines that contain it. Case-insensitive.");

const sinceMinutes = z.int().min(1).max(10_080).optional();

export const logTools = [
  kubernetesTool({
    name: "get_logs",
    description:
      "Reads the end of a container's log, oldest line first; `previous` reads its last run, before it crashed. For deleted pods, use the log store.",
    ...SNAPSHOT,
    selects: ["contains"],
    input_schema: z.strictObject({
      pod: name,
      namespace,
      container: name.optional().describe("Required if there are several."),
      previous: z.boolean().optional(),
      since_minutes: sinceMinutes,
      contains,
      lines: z.int().min(1).max(500).optional().describe("From the end. Default 100."),
    }),
    output_schema: resultSchema("lines lines_read", "lines:[text] lines_read:number note"),
    work: async ({ ask, own }, input) => {
      const where = oneNamespace(input.namespace ?? own.namespace);
      const most = input.lines ?? 100;
      const read = await readLog(ask, input, { ...input, where, lines: most });
      const lines = fitting(read, input.contains);
      const { shown, left_out } = lastLines(lines);
      return { lines: shown, left_out, lines_read: read.length, note: logNote(read.length, lines.length, most) };
    },
  }),
  kubernetesTool({
    name: "search_logs",
    description:
      "Reads the end of the logs of all containers of one pod, or of all pods with a selector, in order of time: which wrote the first error. `previous` reads their last runs. Twelve containers at most, one request each; get_logs goes back further.",
    ...SNAPSHOT,
    selects: ["pod", "selector", "contains"],
    input_schema: z.strictObject({
      namespace,
      pod: name.optional().describe("Give a pod or a selector."),
      selector,
      contains,
      previous: z.boolean().optional(),
      since_minutes: sinceMinutes,
      lines: z.int().min(1).max(200).optional().describe("From the end of each log. Default 50."),
    }),
    output_schema: resultSchema(
      "lines sources",
      `lines:[text] left_out:number sources:[{ pod container lines_read:number fitting:number note }]
        sources_left_out:number note`,
    ),
    work: async ({ ask, own }, input) => {
      const where = oneNamespace(input.namespace ?? own.namespace);
      if ((input.pod === undefined) === (input.selector === undefined))
        throw new Error("Give either a pod or a selector. list_pods shows names and labels.");
      const listed = await ask({
        path: pathOf("v1", where, "pods"),
        query: {
          fieldSelector: input.pod && `metadata.name=${input.pod}`,
          labelSelector: input.selector,
          limit: MOST_PODS,
        },
        needs: `permission to list pods in ${where}`,
        answer: listOf(podNames),
      });
      const { shown, left_out } = firstOf(listed.items.flatMap(sourcesOf), MOST_SOURCES);
      const read = [];
      for (const source of shown) read.push(await readSource(ask, source, { ...input, where }));
      const several = new Set(shown.map(({ pod }) => pod)).size > 1;
      const lines = read
        .flatMap(({ pod, container, lines: own }) => {
          const prefix = several ? `${pod}/${container}` : container;
          return own.map((line) => ({ ...timeOf(line), line: `${prefix}: ${line}` }));
        })
        .sort((a, b) => a.second - b.second || a.nanos - b.nanos);
      const last = lastLines(
        lines.map(({ line }) => line),
        14_000,
      );
      return {
        lines: last.shown,
        left_out: last.left_out,
        sources: read.map(({ lines: _, isUnread: __, ...source }) => source),
        sources_left_out: left_out,
        note: searchNote(where, read, Boolean(listed.metadata?.continue)),
      };
    },
  }),
];

const MOST_PODS = 50;
const MOST_SOURCES = 12;

const containerNames = z.array(z.object({ name: z.string() })).nullish();
const podNames = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({ containers: containerNames, initContainers: containerNames }),
});

/** Returns the main containers before the init containers, whose logs are less often useful. */
function sourcesOf({ metadata, spec }: z.infer<typeof podNames>) {
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  return containers.map((container) => ({ pod: metadata.name, container: container.name }));
}

interface Wanted {
  /** Namespace. */
  readonly where: string;
  readonly previous?: boolean | undefined;
  readonly since_minutes?: number | undefined;
  readonly lines?: number | undefined;
  readonly contains?: string | undefined;
}

/** Reads one container's log. A missing log becomes a note, because it must not fail the other containers. */
async function readSource(ask: Ask, source: { pod: string; container: string }, wanted: Wanted) {
  try {
    const log = await readLog(ask, source, { ...wanted, lines: wanted.lines ?? 50 });
    const lines = fitting(log, wanted.contains);
    return { ...source, lines_read: log.length, fitting: lines.length, isUnread: false, lines };
  } catch (error) {
    // A server error is that of one node, if its kubelet does not answer.
    const status = error instanceof ServiceFault ? (error.status ?? 0) : 0;
    if (!(error instanceof ServiceFault) || (status !== 400 && status !== 404 && status < 500)) throw error;
    const note = clip(error.message.replace(/^.*?\): /s, ""), 200);
    return { ...source, lines_read: 0, note, isUnread: status >= 500, lines: [] };
  }
}

async function readLog(
  ask: Ask,
  { pod, container }: { readonly pod: string; readonly container?: string | undefined },
  { where, previous, since_minutes, lines }: Wanted,
): Promise<readonly string[]> {
  const log = await ask({
    path: pathOf("v1", where, "pods", pod, "log"),
    query: {
      container,
      previous,
      sinceSeconds: since_minutes && since_minutes * 60,
      tailLines: lines,
      timestamps: true,
    },
    needs: `permission to get pods/log in ${where}`,
    instead: "list_pods lists the names.",
    // A limit in bytes would cut off the newest lines.
    isText: "end",
    answer: z.string(),
  });
  return log.split("\n").filter((line) => line !== "");
}

/** Parses the time at the start of a line. Nodes write it in their own time zones, and to the nanosecond. */
function timeOf(line: string) {
  const [, second = "", nanos = "", zone = ""] = /^([\dT:-]{19})(?:\.(\d+))?(Z|[+-]\d\d:\d\d) /.exec(line) ?? [];
  return { second: Date.parse(second + zone) || 0, nanos: Number(nanos.padEnd(9, "0")) };
}

function fitting(lines: readonly string[], contains = ""): readonly string[] {
  return lines.filter((line) => line.toLowerCase().includes(contains.toLowerCase()));
}

type Read = Awaited<ReturnType<typeof readSource>>;

function searchNote(where: string, read: readonly Read[], isCut: boolean): string | undefined {
  if (read.length === 0) return `No pod in ${where} matches. list_pods shows names and labels.`;
  const unread = read.filter(({ isUnread }) => isUnread).length;
  if (unread > 0) return `${unread} of ${read.length} logs could not be read: see \`sources\`.`;
  if (isCut) return `Other pods match too: \`sources_left_out\` counts only the containers of the first ${MOST_PODS}.`;
  const found = read.some(({ lines }) => lines.length > 0);
  return found ? undefined : "None of the lines read matches. `sources` shows how many lines were read.";
}

function logNote(read: number, fit: number, most: number): string | undefined {
  if (read === 0) return "The log is empty: the container wrote nothing in this time, or it has not run.";
  if (fit === 0) return `None of the last ${read} lines contains it.`;
  return read >= most ? "There may be older lines. Raise lines, or give since_minutes." : undefined;
}
