import type { ToolContext } from "skillflow";
import {
  type Ask,
  authorization,
  keyOf,
  lenient,
  type Service,
  serviceUrl,
  textLike,
  toolsWith,
  withService,
} from "skillflow/internal";
import * as z from "zod";

export const READS = "the Browse projects permission, and the read:jira-work scope of a scoped token";

const JIRA: Service = {
  name: "Jira",
  address: "JIRA_BASE_URL",
  keys: ["JIRA_API_TOKEN"],
  needs: READS,
  headers: (config) => authorization(config["JIRA_USER_EMAIL"], keyOf(config, "JIRA_API_TOKEN")),
};

/** Jira within one tool call. Texts are documents in Cloud and strings in Data Center. */
export interface Jira {
  /** Sends a request relative to the API's root. */
  readonly ask: Ask;
  readonly isCloud: boolean;
  /** Returns an issue's URL for users. */
  readonly pageOf: (key: string) => string;
}

/** Runs a tool's work on Jira. A configured email address means Cloud. */
export function withJira(context: ToolContext, work: (jira: Jira) => Promise<unknown>) {
  return withService(JIRA, context, (ask) => {
    const isCloud = Boolean(context.config["JIRA_USER_EMAIL"]?.trim());
    const api = ["rest", "api", isCloud ? "3" : "2"];
    const url = serviceUrl(JIRA, context.config);
    return work({
      ask: (asking) => ask({ ...asking, path: [...api, ...asking.path] }),
      isCloud,
      pageOf: (key) => `${url}/browse/${key}`,
    });
  });
}

export const jiraTool = toolsWith(withJira);

export const WRITES = "the permission to do this in the project, and the write:jira-work scope of a scoped token";
export const NOT_SEEN = "Check the key. Jira gives the same error if this account lacks access.";

export const issueKey = textLike(/^[A-Z][A-Z0-9_]+-[1-9]\d*$/, 40).describe("Such as OPS-123.");

export const text = lenient(z.string());
export const number = lenient(z.number());
export const named = lenient(z.object({ name: text }));
export const person = lenient(z.object({ displayName: text, accountId: text, name: text }));

/** Returns true if two accounts are the same. Cloud has ids, Data Center has names. */
export function isSame(a: z.infer<typeof person>, b: z.infer<typeof person>): boolean {
  return a?.accountId ? a.accountId === b?.accountId : Boolean(a?.name) && a?.name === b?.name;
}

export function isNamed(name: string | null | undefined, wanted: string): boolean {
  return name?.toLowerCase() === wanted.trim().toLowerCase();
}

export function myself({ ask }: Jira) {
  return ask({ path: ["myself"], answer: z.object({ displayName: text, accountId: text, name: text }) });
}
