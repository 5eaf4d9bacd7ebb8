import { SkillflowError, type ToolContext } from "skillflow";
import { type Ask, type Asking, authorization, type Service, toolsWith, withService } from "skillflow/internal";
import * as z from "zod";
import { number, text } from "./fields.ts";
import { type Place, placeOf } from "./place.ts";

interface Cluster {
  readonly ask: Ask;
  readonly own: { readonly namespace: string };
}

export async function withKubernetes(context: ToolContext, work: (cluster: Cluster) => Promise<unknown>) {
  const place = placeOf(context);
  const { url, told, token } = place;
  let fetching: Promise<typeof fetch> | undefined;
  const service: Service = {
    name: "Kubernetes",
    address: told,
    url,
    keys: ["KUBERNETES_TOKEN"],
    secrets: [token, place.tls.key, decodeURIComponent(place.proxy?.password ?? "")].flatMap((secret) => secret || []),
    headers: () => authorization(undefined, token),
    // All requests of a call share its connections.
    fetchWith: (asked) => (fetching ??= fetchOf(place, asked)),
  };
  return withService(service, context, (ask) => work({ ask, own: { namespace: place.namespace } }));
}

export const kubernetesTool = toolsWith(withKubernetes);

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Returns a fetch that uses the cluster's own certificate authority, client certificate and proxy. */
async function fetchOf({ url, tls, proxy }: Place, context: ToolContext): Promise<typeof fetch> {
  if (Object.keys(tls).length === 0 && !proxy) return context.fetch;
  const far = [new URL(url), ...(proxy ? [proxy] : [])].find(({ hostname }) => !LOOPBACK.test(hostname));
  if (context.offline && far)
    throw new SkillflowError("offline.refused", `${far.hostname} was not contacted: the run is offline`);
  const { Agent, fetch: fetchWith, ProxyAgent } = await import("undici");
  const { insecure, ...parts } = tls;
  const connect = { ...parts, rejectUnauthorized: !insecure };
  const dispatcher = proxy
    ? new ProxyAgent({ uri: proxy.href, requestTls: connect, pipelining: 0 })
    : new Agent({ connect, pipelining: 0 });
  const send = (input: never, init: object): Promise<unknown> => fetchWith(input, { ...init, dispatcher });
  return send as typeof fetch;
}

/** Returns the path of a kind in one namespace, or in all with `*`. The version is written as v1 or apps/v1. */
export function pathOf(version: string, namespace: string, ...rest: readonly string[]): readonly string[] {
  const parts = version.split("/");
  const root = [parts.length === 1 ? "api" : "apis", ...parts];
  return [...root, ...(namespace === "*" ? [] : ["namespaces", namespace]), ...rest];
}

/** Throws if the namespace is `*`, because a single object needs its own. */
export function oneNamespace(given: string): string {
  if (given !== "*") return given;
  throw new Error("Give the namespace. A list with `*` shows it.");
}

/** Media types that request only the objects' metadata, never their contents. */
export const METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
export const METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/** Number of items that one request asks for, and of requests that one list may take. */
const PAGE = 150;
const MOST_PAGES = 10;

const page = z.object({ continue: text, remainingItemCount: number }).nullish();

/** Members of a list's answer. Servers written in Go send null for an empty list. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    metadata: page,
    items: z
      .array(item)
      .nullish()
      .transform((items) => items ?? []),
  });
}

interface Listing<Item extends z.ZodType> {
  /** Default v1. */
  readonly version?: string;
  /** Namespace, or `*`. */
  readonly where: string;
  readonly plural: string;
  readonly item: Item;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly accept?: string;
  readonly needs?: string;
}

/** Lists objects of one kind. Servers sort them by name, so that the first pages are not the newest ones. */
export async function listAll<Item extends z.ZodType>(ask: Ask, listing: Listing<Item>) {
  const { version = "v1", where, plural, item, labelSelector, fieldSelector, ...rest } = listing;
  const { pages, unread } = await readPages(ask, {
    path: pathOf(version, where, plural),
    query: { labelSelector, fieldSelector },
    needs: `permission to list ${plural} in ${where}`,
    answer: listOf(item),
    ...rest,
  });
  return { items: pages.flatMap(({ items }) => items), unread };
}

/** Reads the pages of a list. `unread` is a note if there are more than it may take. */
export async function readPages<Answer extends z.ZodType<{ metadata?: z.infer<typeof page> }>>(
  ask: Ask,
  asking: Asking<Answer>,
) {
  const pages: z.infer<Answer>[] = [];
  for (let next: string | null | undefined; ; ) {
    const answer = await ask({ ...asking, query: { ...asking.query, limit: PAGE, continue: next ?? undefined } });
    pages.push(answer);
    next = answer.metadata?.continue;
    if (!next) return { pages, unread: undefined };
    if (pages.length === MOST_PAGES) return { pages, unread: unreadNote(answer.metadata?.remainingItemCount) };
  }
}

function unreadNote(remaining: number | null | undefined): string {
  const others = remaining ? `, ${remaining} were not` : "";
  return `Only the first ${PAGE * MOST_PAGES} by name were checked${others}. Narrow the list.`;
}
