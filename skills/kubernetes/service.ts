import { SkillflowError, type ToolContext } from "skillflow";
import { type Ask, authorization, type Service, toolsWith, withService } from "skillflow/internal";
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
  const service: Service = {
    name: "Kubernetes",
    address: told,
    url,
    keys: ["KUBERNETES_TOKEN"],
    secrets: [token, place.tls.key].filter((secret) => secret !== undefined),
    headers: () => authorization(undefined, token),
    fetchWith: (asked) => fetchOf(place, asked),
  };
  return withService(service, context, (ask) => work({ ask, own: { namespace: place.namespace } }));
}

export const kubernetesTool = toolsWith(withKubernetes);

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Returns a fetch that trusts the cluster's own certificate authority and uses its client certificate. */
async function fetchOf({ url, tls }: Place, context: ToolContext): Promise<typeof fetch> {
  if (!tls.ca && !tls.cert && !tls.insecure) return context.fetch;
  const { hostname } = new URL(url);
  if (context.offline && !LOOPBACK.test(hostname))
    throw new SkillflowError("offline.refused", `${hostname} was not contacted: the run is offline`);
  const { Agent, fetch: fetchWith } = await import("undici");
  const { insecure, ...parts } = tls;
  const dispatcher = new Agent({ connect: { ...parts, rejectUnauthorized: !insecure }, pipelining: 0 });
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

/** Returns the schema of a list's page, with the number of remaining items if the server reports it. */
export function listOf<Item extends z.ZodType>(item: Item) {
  const metadata = z.object({ continue: text, remainingItemCount: number }).nullish();
  return z.object({ metadata, items: z.array(item) });
}

/** Number of items to request, however many are shown. */
export const PAGE = 300;

interface Listed {
  readonly metadata?:
    | { readonly continue?: string | null | undefined; readonly remainingItemCount?: number | null | undefined }
    | null
    | undefined;
}

export function unreadNote({ metadata }: Listed): string | undefined {
  if (!metadata?.continue) return undefined;
  return `Only the first ${PAGE} were checked${metadata.remainingItemCount ? `, ${metadata.remainingItemCount} were not` : ""}. Give a namespace or a selector.`;
}
