import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Lack, ToolContext } from "skillflow";
import { each, keyOf } from "skillflow/internal";
import { parse } from "yaml";
import * as z from "zod";

/** The cluster's address and credentials. */
export interface Place {
  readonly url: string;
  /** The setting that gives the address, as errors name it. */
  readonly told: "KUBERNETES_URL" | "KUBECONFIG";
  readonly token?: string | undefined;
  readonly tls: Readonly<Partial<Record<"ca" | "cert" | "key" | "servername", string>>> & {
    readonly insecure?: boolean;
  };
  readonly namespace: string;
  /** Proxy through which the cluster is reached. */
  readonly proxy?: URL | undefined;
}

/** The kubeconfig is right, but its user's token comes from a program. */
class TokenMissing extends Error {}

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

function isInCluster(): boolean {
  return existsSync(`${ACCOUNT}/token`);
}

/** Reports why no cluster can be reached with this config; nothing is contacted. */
export function lackingCluster(run: Pick<ToolContext, "config" | "workDir">): Lack | undefined {
  const isGiven = Boolean(run.config["KUBECONFIG"] || run.config["KUBERNETES_URL"]);
  if (!isGiven && !isInCluster()) {
    const reason = "neither KUBECONFIG nor KUBERNETES_URL is set, and this is not a pod";
    const fix = "set KUBECONFIG to a kubeconfig file, or KUBERNETES_URL and KUBERNETES_TOKEN";
    return { kind: "config_missing", reason, fix };
  }
  try {
    placeOf(run);
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const source = run.config["KUBERNETES_URL"] ? "correct KUBERNETES_CA" : "correct the file that KUBECONFIG names";
    const fix = error instanceof TokenMissing ? "set KUBERNETES_TOKEN to the output of `kubectl create token`" : source;
    return isGiven ? { kind: "config_form", reason, fix } : { kind: "machine", reason };
  }
}

export function placeOf({ config, workDir }: Pick<ToolContext, "config" | "workDir">): Place {
  const token = keyOf(config, "KUBERNETES_TOKEN");
  const url = config["KUBERNETES_URL"]?.trim();
  if (url) {
    const ca = config["KUBERNETES_CA"]?.trim();
    const tls = ca ? { ca: ca.startsWith("-----") ? ca : read(resolve(workDir, ca), "KUBERNETES_CA") } : {};
    return { url, told: "KUBERNETES_URL", token, tls, namespace: "default" };
  }
  const file = config["KUBECONFIG"]?.trim();
  if (file) return placeIn(resolve(workDir, file), config["KUBERNETES_CONTEXT"]?.trim(), token);
  if (isInCluster()) return placeOfPod();
  throw new Error("Neither KUBECONFIG nor KUBERNETES_URL is set, so Kubernetes cannot be used in this run.");
}

/** The names that every pod of a cluster knows it by. */
function placeOfPod(): Place {
  const own = (name: string) => read(`${ACCOUNT}/${name}`, "the service account").trim();
  return {
    url: "https://kubernetes.default.svc",
    told: "KUBECONFIG",
    token: own("token"),
    tls: { ca: own("ca.crt") },
    namespace: own("namespace"),
  };
}

const text = z.string().optional();
const named = <Shape extends z.ZodType>(key: string, shape: Shape) =>
  z.array(z.object({ name: z.string(), [key]: shape.nullish() })).nullish();
const cluster = z.object({
  server: z.string(),
  ...each(text, "certificate-authority certificate-authority-data tls-server-name proxy-url"),
  "insecure-skip-tls-verify": z.boolean().optional(),
});
const user = z.object({
  ...each(text, "token tokenFile client-certificate client-certificate-data client-key client-key-data"),
  exec: z.unknown().optional(),
  "auth-provider": z.unknown().optional(),
});
const context = z.object({ cluster: z.string(), user: text, namespace: text });
const kubeconfig = z.object({
  "current-context": text,
  clusters: named("cluster", cluster),
  users: named("user", user),
  contexts: named("context", context),
});

function placeIn(file: string, wanted: string | undefined, token: string | undefined): Place {
  const told = kubeconfig.safeParse(parsed(read(file, "KUBECONFIG")));
  if (!told.success) throw new Error("The file that KUBECONFIG names is not a kubeconfig.");
  const { data } = told;
  const name = wanted || data["current-context"];
  const chosen = find(data.contexts, name, "context") as z.infer<typeof context> | undefined;
  if (!chosen)
    throw new Error(`KUBECONFIG has no context ${name ?? "that is current"}. It has: ${names(data.contexts)}.`);
  const where = find(data.clusters, chosen.cluster, "cluster") as z.infer<typeof cluster> | undefined;
  if (!where) throw new Error("KUBECONFIG's context names a cluster that does not exist.");
  const who = (find(data.users, chosen.user, "user") ?? {}) as z.infer<typeof user>;
  if (!token && (who.exec || who["auth-provider"]))
    throw new TokenMissing(
      "The user of KUBECONFIG's context gets its token from a program, which skillflow does not run. Set KUBERNETES_TOKEN to the output of `kubectl create token`.",
    );
  const part = (data64: string | undefined, path: string | undefined) => {
    if (data64) return Buffer.from(data64, "base64").toString("utf8");
    return path ? read(resolve(dirname(file), path), "KUBECONFIG") : undefined;
  };
  const ca = part(where["certificate-authority-data"], where["certificate-authority"]);
  const cert = part(who["client-certificate-data"], who["client-certificate"]);
  const key = part(who["client-key-data"], who["client-key"]);
  return {
    url: where.server,
    told: "KUBECONFIG",
    token: token ?? who.token ?? part(undefined, who.tokenFile)?.trim(),
    tls: {
      ...(ca ? { ca } : {}),
      ...(cert && key && !token ? { cert, key } : {}),
      ...(where["tls-server-name"] ? { servername: where["tls-server-name"] } : {}),
      ...(where["insecure-skip-tls-verify"] ? { insecure: true } : {}),
    },
    namespace: chosen.namespace ?? "default",
    proxy: where["proxy-url"] ? proxyOf(where["proxy-url"]) : undefined,
  };
}

function proxyOf(address: string): URL {
  try {
    const url = new URL(address);
    decodeURIComponent(`${url.username} ${url.password}`);
    if (/^https?:$/.test(url.protocol)) return url;
  } catch {
    // The address, or the encoding of its user or password, is wrong.
  }
  throw new Error("The `proxy-url` of KUBECONFIG's cluster must be an http or https address. No other is supported.");
}

type Named = readonly Readonly<Record<string, unknown>>[] | null | undefined;

function find(list: Named, name: string | undefined, key: string): unknown {
  return list?.find((entry) => entry["name"] === name)?.[key];
}

function names(list: Named): string {
  return list?.map((entry) => String(entry["name"])).join(", ") || "none";
}

/** Reads the file. Errors do not quote it, because it holds keys. */
function parsed(content: string): unknown {
  try {
    return parse(content);
  } catch {
    return undefined;
  }
}

function read(file: string, source: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
    throw new Error(`Cannot read a file that ${source} names (${code}).`);
  }
}
