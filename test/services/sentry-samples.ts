import type { Json } from "skillflow";

/** Samples of Sentry's answers. `long text` stands for texts that can be long. */

export const COMMENT = {
  id: "7",
  type: "note",
  user: { name: "Ada" },
  dateCreated: "2026-01-31T08:00:00Z",
  data: { text: "" },
};
const PROJECT = {
  id: "2",
  slug: "shop",
  name: "Shop",
  platform: "node",
  environments: ["production"],
  teams: [{ slug: "ops" }],
  firstEvent: null,
};
const RELEASE = {
  ...{
    version: "shop@1.2.0",
    shortVersion: "1.2.0",
    ref: null,
    url: null,
    dateCreated: "2026-01-31T08:00:00Z",
    dateReleased: null,
  },
  ...{
    firstEvent: null,
    lastEvent: null,
    newGroups: 1,
    commitCount: 2,
    deployCount: 1,
    lastDeploy: null,
    projects: [PROJECT],
  },
  lastCommit: { id: "6dcb09b", message: "long text" },
};
const PERSON = { type: "user", name: "Ada", email: "ada@example.com" };
export const ISSUE = {
  ...{
    id: "1",
    shortId: "SHOP-1",
    title: "TimeoutError",
    culprit: "checkout",
    level: "error",
    status: "unresolved",
    substatus: "ongoing",
  },
  ...{
    priority: "high",
    issueCategory: "error",
    count: "150",
    userCount: 12,
    firstSeen: "2026-01-31T08:00:00Z",
    lastSeen: "2026-01-31T09:00:00Z",
  },
  ...{
    project: PROJECT,
    assignedTo: PERSON,
    metadata: { value: "long text" },
    permalink: "https://acme.sentry.io/issues/1/",
  },
  ...{
    numComments: 1,
    firstRelease: RELEASE,
    lastRelease: RELEASE,
    statusDetails: {},
    tags: [{ key: "browser", totalValues: 3 }],
  },
  activity: [{ type: "note", dateCreated: "2026-01-31T08:00:00Z", user: PERSON, data: { text: "long text" } }],
};
const FRAME = {
  function: "pay",
  filename: "src/pay.ts",
  lineNo: 7,
  colNo: 3,
  inApp: true,
  context: [[7, "long text"]],
};
const STACKTRACE = { frames: [FRAME, { ...FRAME, inApp: false }] };
const EXCEPTION = {
  type: "TimeoutError",
  value: "long text",
  module: "pay",
  mechanism: { type: "generic", handled: false },
  stacktrace: STACKTRACE,
};
const CRUMB = {
  timestamp: "2026-01-31T08:00:00Z",
  category: "http",
  level: "info",
  message: "long text",
  data: { url: "https://a.example/x?token=1" },
};
const BRIEF = {
  ...{
    eventID: "9fac2ceed9344f2bbfdd1fdacb0ed9b1",
    groupID: "1",
    title: "TimeoutError",
    message: "long text",
    platform: "node",
    culprit: "checkout",
  },
  ...{
    location: "src/pay.ts",
    dateCreated: "2026-01-31T08:00:00Z",
    dist: null,
    release: RELEASE,
    user: { id: "7" },
    errors: [],
  },
  ...{ tags: [{ key: "url", value: "long text" }], contexts: { runtime: { name: "node", version: "20" } } },
};
export const EVENT: Json = {
  ...BRIEF,
  entries: [
    { type: "exception", data: { values: [EXCEPTION] } },
    { type: "breadcrumbs", data: { values: [CRUMB] } },
    { type: "request", data: { method: "GET", url: "https://shop.example/pay?card=1" } },
  ],
};
const COMMIT = {
  id: "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2",
  message: "long text",
  dateCreated: "2026-01-31T07:00:00Z",
  author: { name: "Ada", email: "ada@example.com" },
  repository: { name: "acme/shop" },
  pullRequest: { id: "7", externalUrl: "https://github.com/acme/shop/pull/7" },
};
export const COMMITTERS: Json = {
  committers: [{ author: PERSON, commits: [{ ...COMMIT, score: 2, suspectCommitType: "via SCM integration" }] }],
};
const TAG = {
  key: "release",
  name: "Release",
  uniqueValues: 2,
  totalValues: 3,
  topValues: [{ value: "long text", count: 2, firstSeen: "2026-01-31T08:00:00Z", lastSeen: "2026-01-31T09:00:00Z" }],
};
const FLOODS: readonly (readonly [RegExp, Json])[] = [
  [/\/events\/(latest|oldest|recommended)\/$/, EVENT],
  [/\/eventids\/[^/]+\/$/, { projectSlug: "shop", groupId: "1", event: EVENT }],
  [/\/committers\/$/, COMMITTERS],
  [/\/tags\/[^/]+\/$/, TAG],
  [/\/releases\/[^/]+\/commits\/$/, [COMMIT]],
  [/\/releases\/[^/]+\/$/, RELEASE],
  [/\/issues\/[^/]+\/events\/$/, [BRIEF]],
  [/\/events\/$/, { data: [{ title: "long text", "count()": 3 }] }],
  [/\/comments\/$/, [COMMENT]],
  [/\/issues\/$/, [ISSUE]],
  [/\/issues\/[^/]+\/$/, ISSUE],
  [/\/releases\/$/, [RELEASE]],
  [/\/projects\/$/, [PROJECT]],
];

/** An answer to this path at maximum size. */
export function floodOf(method: string, pathname: string): Json {
  const known = FLOODS.find(([pattern]) => pattern.test(pathname));
  return swollen(method === "POST" ? COMMENT : (known?.[1] ?? {}), "");
}

const DEPTHS = [
  { most: 50, longest: 30_000 },
  { most: 8, longest: 8000 },
  { most: 5, longest: 2000 },
] as const;

/** Fifty items of each list, fewer in these. */
function swollen(value: Json, key: string, depth = 0): Json {
  const { most, longest } = DEPTHS[depth] ?? DEPTHS[2];
  if (value === "long text") return value.padEnd(longest, ' é"\n');
  if (typeof value === "string") return ["type", "slug"].includes(key) ? value : value.padEnd(200, " é");
  if (Array.isArray(value)) {
    const isWhole = value.length === 0 || typeof value[0] === "number" || key === "entries";
    const length = isWhole ? value.length : most;
    return Array.from({ length }, (_, index) => swollen(value[index % value.length] ?? null, "", depth + 1));
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([member, item]) => [member, swollen(item, member, depth)]));
}
