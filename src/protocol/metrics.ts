import type { Metrics } from "../app/adapters/metrics.ts";
import { bearerOf, isForeign, isLoopback, isSame } from "./http-server.ts";

/** Serves metrics to Prometheus. Without a token, only to this machine. */

export interface MetricsSite extends Pick<Metrics, "text" | "contentType"> {
  readonly host: string;
  readonly token?: string | undefined;
}

export async function answerMetrics(request: Request, { host, token, text, contentType }: MetricsSite) {
  const { method, headers } = request;
  if (token === undefined && !isLoopback(host))
    return refused(404, "metrics need a token: set `metrics` in listen.yml");
  if (token === undefined) {
    const isRefused = isForeign(headers.get("host") ?? undefined, headers.get("origin") ?? undefined, host);
    if (isRefused) return refused(403, "requests from pages of other sites are refused");
  } else if (!isSame(bearerOf(headers.get("authorization")) ?? "", token)) {
    return refused(401, "a token is needed: Authorization: Bearer …", { "www-authenticate": "Bearer" });
  }
  if (method !== "GET" && method !== "HEAD") return refused(405, "GET only", { allow: "GET" });
  return new Response(await text(), { headers: { "content-type": contentType, "cache-control": "no-store" } });
}

function refused(status: number, error: string, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json({ error }, { status, headers });
}
