import type { Json, JsonObject } from "skillflow";
import type { LoopbackRequest } from "skillflow/testing";
import * as z from "zod";
import { type Answer, type Asked, type RestService, type Route, type Script, startRest, swollen } from "./rest.ts";
import type { Vendor } from "./vendor.ts";

/** Jira's REST API as published, of Cloud and of Data Center: requests that neither describes are refused. */

export const TOKEN = "ATATT3xJiraCanary0123456789";
export const EMAIL = "ops@example.com";

export function startJira(script?: Script): Promise<RestService> {
  const empty: Script = ({ operation }) => (SILENT.includes(operation) ? { text: "" } : undefined);
  const answer: Script = (asked) => script?.(asked) ?? empty(asked);
  const fault = (message: string) => ({ errorMessages: [message], errors: {} });
  return startRest({ routes: ROUTES, refuse, fault }, answer);
}

/** Operations whose answer has no body. */
const SILENT = ["doTransition", "editIssue", "assignIssue"];

/** Answers of maximum size. Of a document, whose parts have parts, one long text. */
export function flood({ operation, example }: Asked): Answer {
  if (/Link|ransition|User|edit|assign/.test(operation)) return { body: example };
  const brief = [DOCUMENT, ROLLED_BACK].reduce<string>(
    (text, document) => text.replaceAll(JSON.stringify(document), '"a document"'),
    JSON.stringify(example),
  );
  const text = JSON.stringify(swollen(JSON.parse(brief) as Json, []));
  return { text: text.replaceAll('"a document"', JSON.stringify(LONG)) };
}

function refuse({ headers, url }: LoopbackRequest): Answer | undefined {
  const basic = `Basic ${Buffer.from(`${EMAIL}:${TOKEN}`).toString("base64")}`;
  const isKnown = headers.authorization === (url.startsWith("/rest/api/3/") ? basic : `Bearer ${TOKEN}`);
  const errorMessages = ["Client must be authenticated to access this resource."];
  return isKnown ? undefined : { status: 401, body: { errorMessages, errors: {} } };
}

const digits = z.string().regex(/^\d+$/);
const KEY = "[A-Z][A-Z0-9_]+-\\d+";
const at = (path: string) => new RegExp(`^/rest/api/[23]/${path}$`);

const mark = z.strictObject({ type: z.literal("link"), attrs: z.strictObject({ href: z.url() }) });
const inline = z.union([
  z.strictObject({ type: z.literal("text"), text: z.string().min(1), marks: z.array(mark).optional() }),
  z.strictObject({ type: z.literal("hardBreak") }),
]);
const adf = z.strictObject({
  type: z.literal("doc"),
  version: z.literal(1),
  content: z.array(z.strictObject({ type: z.enum(["paragraph", "codeBlock"]), content: z.array(inline).min(1) })),
});
const written = z.union([adf, z.string()]);
const named = z.strictObject({ name: z.string().min(1) });
const keyed = z.strictObject({ key: z.string().min(1) });

const paragraph = (...content: Json[]): JsonObject => ({ type: "paragraph", content });
const words = (text: string, href?: string): JsonObject => {
  return { type: "text", text, ...(href ? { marks: [{ type: "link", attrs: { href } }] } : {}) };
};

/** A document with typical content. */
const DOCUMENT: Json = {
  type: "doc",
  version: 1,
  content: [
    { type: "heading", attrs: { level: 2 }, content: [words("What happened")] },
    paragraph(
      words("Payments "),
      { type: "text", text: "time out", marks: [{ type: "strong" }] },
      { type: "hardBreak" },
      { type: "mention", attrs: { id: "5b10", text: "@Mia Krystof" } },
      words(" saw "),
      words("this run", "https://ci.example/7"),
    ),
    {
      type: "bulletList",
      content: [
        { type: "listItem", content: [paragraph(words("first"))] },
        { type: "listItem", content: [paragraph(words("second"))] },
      ],
    },
    { type: "codeBlock", attrs: { language: "text" }, content: [words("Error: 502")] },
    {
      type: "table",
      content: [
        {
          type: "tableRow",
          content: [
            { type: "tableCell", content: [paragraph(words("p99"))] },
            { type: "tableCell", content: [paragraph(words("12 s"))] },
          ],
        },
      ],
    },
    { type: "mediaSingle", content: [{ type: "media", attrs: { id: "m", type: "file" } }] },
    paragraph(words("(skillflow call 0123456789abcdef01234567)")),
  ],
};

const ROLLED_BACK: Json = { type: "doc", version: 1, content: [paragraph(words("Rolled back."))] };
const LONG: Json = { type: "doc", version: 1, content: [paragraph(words("x é".repeat(7000)))] };

const MIA: Json = { accountId: "5b10a2844c20165700ede21g", name: "mia", active: true, displayName: "Mia Krystof" };

const ADA = {
  ...{ accountId: "5b10a2844c20165700ede22h", name: "ada", active: true },
  ...{ displayName: "Ada Young", emailAddress: "ada@example.com" },
};

const labelStep = z.union([z.strictObject({ add: z.string() }), z.strictObject({ remove: z.string() })]);

const ISSUE: Json = {
  expand: "renderedFields",
  id: "10002",
  self: "https://your-domain.atlassian.net/rest/api/3/issue/10002",
  key: "OPS-7",
  fields: {
    summary: "Payments time out at night",
    issuetype: { id: "10001", name: "Bug", subtask: false },
    status: { id: "3", name: "In Progress", statusCategory: { id: 4, key: "indeterminate", name: "In Progress" } },
    resolution: null,
    priority: { id: "2", name: "High" },
    assignee: MIA,
    reporter: MIA,
    labels: ["incident"],
    created: "2026-01-30T12:34:00.000+0000",
    updated: "2026-01-31T12:34:00.000+0000",
    resolutiondate: null,
    description: DOCUMENT,
    parent: { id: "10000", key: "OPS-1", fields: { summary: "Payments" } },
    issuelinks: [
      {
        id: "10001",
        type: { id: "1010", name: "Blocks", inward: "is blocked by", outward: "blocks" },
        outwardIssue: { id: "10004", key: "OPS-9", fields: { summary: "Release 1.15", status: { name: "To Do" } } },
      },
      {
        id: "10002",
        type: { id: "1000", name: "Duplicate", inward: "is duplicated by", outward: "duplicates" },
        inwardIssue: { id: "10005", key: "OPS-8", fields: { summary: "Slow pay", status: { name: "Done" } } },
      },
    ],
  },
};

const COMMENT: Json = {
  id: "10000",
  self: "https://your-domain.atlassian.net/rest/api/3/issue/10010/comment/10000",
  author: MIA,
  body: ROLLED_BACK,
  created: "2026-01-31T12:40:00.000+0000",
  updated: "2026-01-31T12:40:00.000+0000",
};

const search = {
  jql: z.string().min(1),
  maxResults: z.int().min(1).max(5000),
  fields: z.array(z.string()).optional(),
};

const ROUTES: readonly Route[] = [
  {
    id: "search",
    method: "POST",
    path: /^\/rest\/api\/3\/search\/jql$/,
    body: z.strictObject({ ...search, nextPageToken: z.string().optional() }),
    answer: () => ({ issues: [ISSUE], nextPageToken: "CAEaAggD", isLast: false }),
  },
  {
    id: "searchOfDataCenter",
    method: "POST",
    path: /^\/rest\/api\/2\/search$/,
    body: z.strictObject({ ...search, startAt: z.int().min(0).optional() }),
    answer: () => ({ expand: "names", startAt: 0, maxResults: 1, total: 3, issues: [ISSUE] }),
  },
  {
    id: "getIssue",
    method: "GET",
    path: at(`issue/${KEY}`),
    query: z.strictObject({ fields: z.string().optional() }),
    answer: () => ISSUE,
  },
  {
    id: "getComments",
    method: "GET",
    path: at(`issue/${KEY}/comment`),
    query: z.strictObject({
      orderBy: z.enum(["created", "-created", "+created"]),
      startAt: digits,
      maxResults: digits,
    }),
    answer: () => ({ startAt: 0, maxResults: 20, total: 3, comments: [COMMENT] }),
  },
  {
    id: "getTransitions",
    method: "GET",
    path: at(`issue/${KEY}/transitions`),
    answer: () => ({
      expand: "transitions",
      transitions: [
        { id: "2", name: "Close Issue", to: { id: "10000", name: "Done" }, hasScreen: false, isAvailable: true },
        { id: "711", name: "Wait", to: { id: "5", name: "Waiting" }, hasScreen: true, isAvailable: true },
      ],
    }),
  },
  {
    id: "doTransition",
    method: "POST",
    path: at(`issue/${KEY}/transitions`),
    body: z.strictObject({ transition: z.strictObject({ id: digits }) }),
    answer: () => null,
  },
  {
    id: "createIssue",
    method: "POST",
    path: at("issue"),
    status: 201,
    body: z.strictObject({
      fields: z.strictObject({
        project: keyed,
        issuetype: named,
        summary: z.string().min(1).max(255),
        description: written.optional(),
        labels: z.array(z.string().regex(/^\S+$/)).optional(),
        priority: named.optional(),
        parent: keyed.optional(),
      }),
    }),
    answer: () => ({ id: "10000", key: "OPS-24", self: "https://your-domain.atlassian.net/rest/api/3/issue/10000" }),
  },
  {
    id: "editIssue",
    method: "PUT",
    path: at(`issue/${KEY}`),
    status: 204,
    body: z
      .strictObject({
        fields: z
          .strictObject({ summary: z.string().min(1).max(255).optional(), priority: named.optional() })
          .optional(),
        update: z.strictObject({ labels: z.array(labelStep).min(1) }).optional(),
      })
      .refine(({ fields, update }) => fields ?? update),
    answer: () => null,
  },
  {
    id: "assignIssue",
    method: "PUT",
    path: at(`issue/${KEY}/assignee`),
    status: 204,
    body: z.union([
      z.strictObject({ accountId: z.string().nullable() }),
      z.strictObject({ name: z.string().nullable() }),
    ]),
    answer: () => null,
  },
  {
    id: "findAssignableUsers",
    method: "GET",
    path: at("user/assignable/search"),
    query: z.union([
      z.strictObject({ issueKey: z.string(), query: z.string(), maxResults: digits }),
      z.strictObject({ issueKey: z.string(), username: z.string(), maxResults: digits }),
    ]),
    answer: () => [
      ADA,
      {
        ...ADA,
        accountId: "5b10a2844c20165700ede99x",
        name: "adam",
        displayName: "Ada Moreau",
        emailAddress: "m@example.com",
      },
    ],
  },
  {
    id: "addComment",
    method: "POST",
    path: at(`issue/${KEY}/comment`),
    status: 201,
    body: z.strictObject({ body: written }),
    answer: ({ body }) => ({ id: "10001", author: MIA, created: "2026-01-31T13:00:00.000+0000", ...body }),
  },
  {
    id: "getIssueLinkTypes",
    method: "GET",
    path: at("issueLinkType"),
    answer: () => ({
      issueLinkTypes: [
        { id: "1000", name: "Duplicate", inward: "is duplicated by", outward: "duplicates" },
        { id: "1010", name: "Blocks", inward: "is blocked by", outward: "blocks" },
        { id: "1020", name: "Relates", inward: "relates to", outward: "relates to" },
      ],
    }),
  },
  {
    id: "linkIssues",
    method: "POST",
    path: at("issueLink"),
    status: 201,
    body: z.strictObject({ type: named, inwardIssue: keyed, outwardIssue: keyed }),
    answer: () => null,
  },
  { id: "getCurrentUser", method: "GET", path: at("myself"), answer: () => MIA },
];

export const vendor: Vendor = {
  start: startJira,
  env: (url) => ({ JIRA_BASE_URL: url, JIRA_USER_EMAIL: EMAIL, JIRA_API_TOKEN: TOKEN }),
  secrets: [TOKEN],
  isWrite: ({ method, url }) => method !== "GET" && !url.includes("/search"),
  asked: ["search_issues", { jql: "project = OPS ORDER BY updated DESC" }],
  questions: {
    "Is it known?": {
      asks: [["search_issues", { jql: 'project = OPS AND text ~ "payment timeout" AND statusCategory != Done' }]],
      tells: ["OPS-7", "Payments time out at night", "In Progress"],
    },
    "What was tried last time?": {
      asks: [["get_issue", { issue: "OPS-7" }]],
      tells: ["Error: 502", "Rolled back", "Release 1.15"],
    },
    "Where to file it?": {
      asks: [["add_comment", { issue: "OPS-7", text: "Seen again." }]],
      tells: ['"id":"10001"'],
    },
  },
  inputs: {
    jira_search_issues: { cursor: null },
    jira_get_issue: { issue: "OPS-7" },
    jira_create_issue: { project: "OPS", parent: null, labels: null },
    jira_add_comment: { issue: "OPS-7" },
    jira_transition_issue: { issue: "OPS-7", to: "Done" },
    jira_link_issues: { issue: "OPS-7", other: "OPS-10", kind: "Blocks" },
    jira_update_issue: { issue: "OPS-7", priority: "Low", add_labels: null, remove_labels: null },
    jira_assign_issue: { issue: "OPS-7", to: "Ada Young" },
  },
};
