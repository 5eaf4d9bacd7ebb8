import { type Ask, authorization, type Service, SkillflowError, type ToolContext, withService } from "skillflow";
import * as z from "zod";
import { number, text } from "./fields.ts";
import { type Place, placeOf } from "./place.ts";

/** Does a tool's work on the cluster. */
export async function withKubernetes(
  context: ToolContext,
  work: (ask: Ask, own: { readonly namespace: string }) => Promise<unknown>,
) {
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
  return withService(service, context, (ask) => work(ask, { namespace: place.namespace }));
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** A cluster is vouched for by its own authority, which nobody else knows. */
async function fetchOf({ url, tls }: Place, context: ToolContext): Promise<typeof fetch> {
  if (!tls.ca && !tls.cert && !tls.insecure) return context.fetch;
  const { hostname } = new URL(url);
  if (context.offline && !LOOPBACK.test(hostname))
    throw new SkillflowError("offline.refused", `${hostname} was not contacted: the run is offline`);
  const { Agent, fetch: fetchWith } = await import("undici");
  const { insecure, ...parts } = tls;
  const dispatcher = new Agent({ connect: { ...parts, rejectUnauthorized: !insecure }, pipelining: 0 });
  return ((input: never, init: object) => fetchWith(input, { ...init, dispatcher })) as unknown as typeof fetch;
}

/** The path of a kind, in one namespace or, with `*`, in all. The version is as objects tell theirs: v1, apps/v1. */
export function pathOf(version: string, namespace: string, ...rest: readonly string[]): readonly string[] {
  const parts = version.split("/");
  const root = [parts.length === 1 ? "api" : "apis", ...parts];
  return [...root, ...(namespace === "*" ? [] : ["namespaces", namespace]), ...rest];
}

/** One object is in one namespace. */
export function oneNamespace(given: string): string {
  if (given !== "*") return given;
  throw new Error("Name the namespace: a list with `*` tells in which one it is.");
}

/** Asks for what objects are called and labelled alone: nothing that they hold is sent. */
export const METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
export const METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/** A list's page; what lies behind it is counted where the server tells. */
export function listOf<Item extends z.ZodType>(item: Item) {
  const metadata = z.object({ continue: text, remainingItemCount: number }).nullish();
  return z.object({ metadata, items: z.array(item) });
}

/** So many are asked for, whatever is shown of them. */
export const PAGE = 300;

interface Listed {
  readonly metadata?:
    | { readonly continue?: string | null | undefined; readonly remainingItemCount?: number | null | undefined }
    | null
    | undefined;
}

export function unreadNote({ metadata }: Listed): string | undefined {
  if (!metadata?.continue) return undefined;
  return `Only the first ${PAGE} were looked at${metadata.remainingItemCount ? `, ${metadata.remainingItemCount} were not` : ""}: name a namespace or a selector.`;
}
