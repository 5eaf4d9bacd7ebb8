import type { Asked as AskedFor, Links } from "../../app/listen/links.ts";
import { SkillflowError } from "../../core/base/errors.ts";
import { type Asked, pagePolicy, page as safePage } from "../http-server.ts";

/** One-time approval links. Only a POST decides, because chat previews and virus scanners open links with GET. */

export interface ApprovalPages {
  ask(asked: Extract<AskedFor, { readonly kind: "open" }>): string;
  tell(title: string, message: string): string;
}

const MOST_NOTE = 1000;

export async function answerApproval(
  request: Request,
  asked: Asked,
  { links, pages }: { readonly links: Pick<Links, "find" | "decide">; readonly pages: ApprovalPages },
): Promise<Response> {
  const { method } = request;
  const token = new URL(request.url).pathname.slice("/approve/".length);
  const tell = (status: number, title: string, message: string) => page(status, pages.tell(title, message));
  if (method === "GET" || method === "HEAD") {
    const found = await links.find(token);
    return found.kind === "open" ? page(200, pages.ask(found)) : tell(...describeClosed(found));
  }
  if (method !== "POST") return page(405, pages.tell("Method not allowed", "Use GET or POST."), ALLOWED);
  const form = new URLSearchParams((await asked.body())?.toString("utf8") ?? "");
  const word = form.get("word");
  if (word !== "approve" && word !== "deny") return tell(400, "No decision", "Approve or deny. Nothing was changed.");
  const approved = word === "approve";
  const note = form.get("note")?.trim().slice(0, MOST_NOTE) || undefined;
  try {
    const found = await links.decide(token, { approved, note });
    if (found.kind !== "open") return tell(...describeClosed(found));
    const { run, by } = found.link;
    return tell(200, approved ? "Approved" : "Denied", `by ${by}. The run ${run} continues.`);
  } catch (error) {
    if (!(error instanceof SkillflowError) || error.code !== "store.locked") throw error;
    return tell(409, "Try again later", "The run is busy. Nothing was changed: try again in a moment.");
  }
}

const ALLOWED = { allow: "GET, HEAD, POST" };

function describeClosed(asked: Exclude<AskedFor, { readonly kind: "open" }>): [number, string, string] {
  switch (asked.kind) {
    case "unknown":
      return [404, "No such link", "It is not from this listener, or it is too old. Nothing was changed."];
    case "late":
      return [410, "Too late", `The run waited until ${asked.until}. Nothing was changed.`];
    case "over":
      return [409, "Nothing to decide", `${asked.how}. Nothing was changed.`];
  }
}

function page(status: number, body: string, headers: Readonly<Record<string, string>> = {}): Response {
  return safePage(status, body, { "content-security-policy": pagePolicy({ forms: "'self'" }), ...headers });
}
