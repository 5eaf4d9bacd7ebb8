import type { JsonObject, ToolContext } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterEach, describe, expect, it } from "vitest";
import linear from "../../skills/linear/skill.ts";
import { callTool, describeSkill, failureOf, fits } from "../contracts/skill.ts";
import { turnOf } from "../harness/long.ts";
import {
  FLOOD_ID,
  flood,
  hasSchema,
  KEY,
  type LinearService,
  refused,
  type Script,
  startLinear,
} from "../services/linear.ts";
import { IDS } from "../services/linear-workspace.ts";

/** One good input for every tool, by names. */
const INPUTS: Readonly<Record<string, JsonObject>> = {
  search_issues: {
    query: "Checkout",
    team: "OPS",
    status: "open",
    label: "SEV1",
    updated_after: "2026-01-01T00:00:00Z",
  },
  get_issue: { issue: "OPS-7" },
  list_comments: { issue: "OPS-7" },
  create_issue: {
    team: "Operations",
    title: "Checkout fails",
    body: "Since 08:00.",
    state: "todo",
    priority: "urgent",
    labels: ["bug", "sev1"],
    project: "checkout",
    assignee: "bob@example.com",
  },
  update_issue: { issue: "OPS-7", state: "Done", priority: "low", assignee: "me" },
  add_comment: { issue: "OPS-7", body: "Seen again.", parent_id: IDS.comment },
  list_teams: { name: "o" },
  list_labels: { team: "OPS" },
  list_states: { team: "ops" },
  list_projects: { team: "OPS" },
  list_users: { name: "ad" },
  relate_issues: { issue: "OPS-7", is: "duplicate_of", other: "OPS-8" },
  attach_link: { issue: "OPS-7", url: "https://ci.example.com/runs/7", title: "The run", subtitle: "triage" },
};

/** The same inputs by ids. */
const BY_ID: Readonly<Record<string, JsonObject>> = {
  ...INPUTS,
  create_issue: {
    ...INPUTS["create_issue"],
    team: FLOOD_ID,
    state: FLOOD_ID,
    labels: [FLOOD_ID],
    project: FLOOD_ID,
    assignee: FLOOD_ID,
  },
  update_issue: { issue: FLOOD_ID, state: FLOOD_ID, add_labels: [FLOOD_ID] },
};

const NAMES = linear.tools.map((tool) => tool.name);
const WRITES = linear.tools.filter((tool) => tool.effect === "write").map((tool) => tool.name);
const READS = NAMES.filter((name) => !WRITES.includes(name));
const ABOUT_ISSUES = NAMES.filter((name) => "issue" in (INPUTS[name] ?? {}));

let service: LinearService;
afterEach(() => service?.close());

async function start(script?: Script, parts: Partial<ToolContext> = {}): Promise<ToolContext> {
  service = await startLinear(script);
  return toolContext({ config: configFor(service.url), callId: "run-1/3:file/0", ...parts });
}

function configFor(url: string): Record<string, string> {
  return { LINEAR_API_KEY: KEY, LINEAR_API_URL: `${url}/graphql` };
}

function call(name: string, context: ToolContext, input: JsonObject = INPUTS[name] ?? {}): Promise<JsonObject> {
  return callTool(linear, name, input, context) as Promise<JsonObject>;
}

/** Refuses the first request only. */
function first(answer: ReturnType<Script>): Script {
  return ({ before }) => (before === 0 ? answer : undefined);
}

describe.skipIf(!hasSchema)("every linear tool, against Linear's published schema", () => {
  it.each(NAMES)("%s sends what the schema allows and returns what a model needs", async (name) => {
    const context = await start();
    const result = await call(name, context);
    expect(service.refusals).toEqual([]);
    expect(result).toMatchSnapshot();
  });

  it.each(turnOf(NAMES))("%s costs at most three requests", async (name) => {
    await call(name, await start());
    expect(service.requests.length).toBeLessThanOrEqual(3);
  });

  it.each(turnOf(NAMES))("%s waits as told after a rate limit and then succeeds", async (name) => {
    const context = await start(
      first({ ...refused("Rate limit exceeded", { type: "ratelimited" }, 400), headers: { "retry-after": "0" } }),
    );
    await call(name, context);
    expect(service.operations[0]).toBe(service.operations[1]);
    expect(service.refusals).toEqual([]);
  });

  it.each(turnOf(NAMES))("%s waits for the reset when the hourly limit is used up", async (name) => {
    const headers = { "x-ratelimit-requests-remaining": "0", "x-ratelimit-requests-reset": "1700000000000" };
    await call(name, await start(first({ status: 429, headers })));
    expect(service.operations[0]).toBe(service.operations[1]);
  });

  it.each(turnOf(READS))("%s asks again after a 502", async (name) => {
    const context = await start(first({ status: 502, text: "<html>", headers: { "retry-after": "0" } }));
    await call(name, context);
    expect(service.requests.length).toBeGreaterThan(1);
  });

  it.each(WRITES)("%s never repeats a write that Linear may have done", async (name) => {
    const context = await start(({ isWrite }) =>
      isWrite ? { status: 502, headers: { "retry-after": "0" } } : undefined,
    );
    await expect(call(name, context)).rejects.toThrow(
      /Linear failed \(502 for \w+\).*unclear: check before you repeat it/,
    );
    expect(service.operations.filter((operation) => /^(Create|Update)/.test(operation))).toHaveLength(1);
  });

  it.each(WRITES)("%s leaves the outcome open if errors come with data of what was written", async (name) => {
    const errors = [{ message: "Forbidden", extensions: { type: "forbidden" } }];
    const body = { data: { result: { success: true, issue: null } }, errors };
    const context = await start(({ isWrite }) => (isWrite ? { status: 200, body } : undefined));
    const error: unknown = await call(name, context).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toHaveProperty("acted");
  });

  it.each(turnOf(ABOUT_ISSUES))("%s tells a wrong number from a team that the key cannot see", async (name) => {
    const context = await start();
    const input = { ...INPUTS[name], state: undefined, assignee: undefined };
    const about = (issue: string) => call(name, context, JSON.parse(JSON.stringify({ ...input, issue })) as JsonObject);
    await expect(about("OPS-999")).rejects.toThrow("The team OPS exists, but OPS-999 does not. Check the number");
    await expect(about("NOPE-1")).rejects.toThrow(
      "No team NOPE is visible. The key in NOPE-1 is wrong, or LINEAR_API_KEY",
    );
    await expect(about(FLOOD_ID)).rejects.toThrow(`No issue with the id ${FLOOD_ID} is visible`);
    expect(service.refusals).toEqual([]);
  });
});

describe("every linear tool, when Linear refuses", () => {
  it.each(turnOf(NAMES))("%s says that the key is wrong at 401", async (name) => {
    const typed = refused("Authentication required, not authenticated", { type: "authentication error" }, 401);
    await expect(call(name, await start(() => typed))).rejects.toThrow(
      /refused LINEAR_API_KEY \(401.*wrong, expired or revoked/,
    );
    await service.close();
    await expect(call(name, await start(() => ({ status: 401, text: "" })))).rejects.toThrow(
      /refused LINEAR_API_KEY \(401/,
    );
    expect(service.requests).toHaveLength(1);
  });

  it.each(turnOf(NAMES))("%s says that the key lacks permission at 403", async (name) => {
    const answer = refused("Invalid scope: `write` required", { type: "forbidden" }, 403);
    await expect(call(name, await start(() => answer))).rejects.toThrow(
      /lacks permission \(403.*Invalid scope: `write` required. A key can be limited/,
    );
    expect(service.requests).toHaveLength(1);
  });

  it.each(turnOf(NAMES))("%s says that the address is wrong at 404", async (name) => {
    await expect(call(name, await start(() => ({ status: 404, text: "no" })))).rejects.toThrow(/LINEAR_API_URL \(404/);
  });

  it.each(turnOf(NAMES))("%s tells which argument to change at 422 and at 400", async (name) => {
    const validationErrors = [{ property: "title", constraints: { maxLength: "title must be shorter than 256" } }];
    const extensions = { type: "graphql error", userPresentableMessage: "The title is too long.", validationErrors };
    for (const status of [400, 422, 200]) {
      const context = await start(() => refused("Argument Validation Error", extensions, status));
      await expect(call(name, context)).rejects.toThrow(
        /Argument Validation Error. The title is too long. Change: title: title must be shorter than 256./,
      );
      await service.close();
    }
  });

  it.each(turnOf(NAMES))("%s says until when to wait when that is long", async (name) => {
    const context = await start(() => ({ status: 429, headers: { "retry-after": "3600" } }));
    await expect(call(name, context)).rejects.toThrow(/rate limit is used up until \d{4}-.*Nothing was done/);
    expect(service.requests).toHaveLength(1);
  });

  it.each(turnOf(NAMES))("%s says so when the answer is not JSON, or JSON of another form", async (name) => {
    for (const text of ['{"data": {"iss', "null", "[]", "{}", '{"data": {}}', '{"data": {"list": 3}}']) {
      const context = await start(() => ({ text }));
      await expect(call(name, context)).rejects.toThrow(/not in the expected form/);
      await service.close();
    }
  });

  it.each(turnOf(READS))("%s gives up when Linear keeps failing", async (name) => {
    const context = await start(() => ({ status: 503, text: "", headers: { "retry-after": "0" } }));
    await expect(call(name, context)).rejects.toThrow(/Linear failed \(503.*Try again later/);
    expect(service.requests).toHaveLength(3);
  });

  it("takes a limit without a header for a minute, and does not wait that long", async () => {
    const context = await start(() => refused("Rate limit exceeded", { code: "RATELIMITED" }, 400));
    await expect(call("add_comment", context)).rejects.toThrow(/rate limit is used up until/);
    expect(service.requests).toHaveLength(1);
  });

  it("stops waiting for a limit when the call is aborted", { timeout: 5000 }, async () => {
    const controller = new AbortController();
    const script: Script = () => {
      setImmediate(() => setImmediate(() => controller.abort(new Error("the run ended"))));
      return { status: 429, headers: { "retry-after": "25" } };
    };
    await expect(call("get_issue", await start(script, { signal: controller.signal }))).rejects.toThrow(
      "the run ended",
    );
    expect(service.requests).toHaveLength(1);
  });

  it("names what the workspace's plan does not include", async () => {
    const context = await start(() => refused("Upgrade to use this", { type: "feature not accessible" }, 403 - 3));
    await expect(call("list_projects", context)).rejects.toThrow(/plan does not allow this/);
  });
});

describe("identifiers", () => {
  const HOSTILE = [
    "",
    "../x",
    "OPS-7/../..",
    'OPS-7"}',
    "OPS 7",
    "OPS-",
    "-7",
    "OPS-7\n",
    "{ viewer { id } }",
    "a".repeat(40),
  ];

  it.each(ABOUT_ISSUES)("%s refuses an issue that is none", (name) => {
    const tool = linear.tools.find((candidate) => candidate.name === name);
    for (const issue of HOSTILE) expect(fits(tool?.input_schema, { ...INPUTS[name], issue }), issue).toBe(false);
    expect(fits(tool?.input_schema, { ...INPUTS[name], issue: IDS.issue })).toBe(true);
  });

  it.skipIf(!hasSchema)("sends a hostile name as a value, never as a part of the document", async () => {
    const context = await start();
    const team = '"}}) { nodes { id } } viewer { email } #';
    await expect(call("list_states", context, { team })).rejects.toThrow(/no team/);
    for (const { body } of service.requests)
      expect((JSON.parse(body) as { query: string }).query).not.toContain("viewer");
    expect(service.refusals).toEqual([]);
  });

  it.each(READS.filter((name) => name !== "get_issue"))("%s allows no page of thousands and no odd cursor", (name) => {
    const tool = linear.tools.find((candidate) => candidate.name === name);
    expect(fits(tool?.input_schema, { ...INPUTS[name], limit: 1000 })).toBe(false);
    expect(fits(tool?.input_schema, { ...INPUTS[name], cursor: 'x"}' })).toBe(false);
  });
});

describe.skipIf(!hasSchema)("relations, parents and links", () => {
  const written = () => JSON.parse(service.requests.at(-1)?.body ?? "{}") as { variables: { input: JsonObject } };

  it.each([
    ["related", "related", "OPS-7", "OPS-8"],
    ["blocks", "blocks", "OPS-7", "OPS-8"],
    ["blocked_by", "blocks", "OPS-8", "OPS-7"],
    ["duplicate_of", "duplicate", "OPS-7", "OPS-8"],
  ])("%s is what Linear calls %s, from %s to %s, and is made once", async (is, type, issueId, relatedIssueId) => {
    const context = await start();
    const input = { issue: "OPS-7", is, other: "OPS-8" };
    const made = await call("relate_issues", context, input);
    expect(made).toMatchObject(input);
    expect(written().variables.input).toMatchObject({ type, issueId, relatedIssueId });
    const again = await call("relate_issues", { ...context, callId: "run-2/3:file/0" }, input);
    expect(again).toEqual({ ...made, existing: true });
    expect(service.operations.filter((operation) => operation === "CreateRelation")).toHaveLength(1);
    expect(JSON.stringify((await call("get_issue", context))["relations"])).toContain("OPS-8");
  });

  it("are none of an issue to itself, nor to one that is not there", async () => {
    const context = await start();
    const itself = { issue: "OPS-7", is: "related", other: "ops-7" };
    await expect(call("relate_issues", context, itself)).rejects.toThrow("two different issues");
    expect(service.requests).toHaveLength(0);
    await expect(call("relate_issues", context, { ...itself, other: "OPS-999" })).rejects.toThrow(
      "The team OPS exists, but OPS-999 does not.",
    );
  });

  it.each([
    ["update_issue", { issue: "OPS-7", parent: "WEB-999" }],
    ["create_issue", { team: "OPS", title: "A part", parent: "WEB-999" }],
    ["relate_issues", { issue: "OPS-7", is: "blocks", other: "WEB-999" }],
  ])("of %s name the issue that does not exist", async (name, input) => {
    const error = await failureOf(async () => call(name, await start(), input));
    expect(error).toMatchObject({
      acted: "no",
      passing: false,
      message: expect.stringContaining("but WEB-999 does not"),
    });
    expect(service.refusals).toEqual([]);
  });

  it("are said to be incomplete if an issue has more than a page", async () => {
    const context = await start();
    for (let index = 0; index < 51; index++)
      await call("attach_link", context, { ...INPUTS["attach_link"], url: `https://ci.example.com/runs/${index}` });
    const issue = await call("get_issue", context);
    expect(issue["links"]).toHaveLength(50);
    expect(issue["incomplete"]).toMatch(/more sub-issues, relations or links/);
    expect(await call("get_issue", context, { issue: "OPS-8" })).not.toHaveProperty("incomplete");
  });

  it("attach an address once", async () => {
    const context = await start();
    const made = await call("attach_link", context);
    expect(made).toMatchObject({ url: "https://ci.example.com/runs/7", title: "The run" });
    expect(await call("attach_link", { ...context, callId: "another" })).toEqual({ ...made, existing: true });
    expect((await call("get_issue", context))["links"]).toHaveLength(1);
    const tool = linear.tools.find(({ name }) => name === "attach_link");
    expect(fits(tool?.input_schema, { ...INPUTS["attach_link"], url: "javascript:alert(1)" })).toBe(false);
  });

  it("make an issue a part of another, and of none", async () => {
    const context = await start();
    await call("update_issue", context, { issue: "OPS-7", parent: "OPS-8" });
    expect((await call("get_issue", context))["parent"]).toMatchObject({ identifier: "OPS-8" });
    await call("update_issue", context, { issue: "OPS-7", parent: "none" });
    expect((await call("get_issue", context))["parent"]).toBeUndefined();
    await call("create_issue", context, { team: "OPS", title: "A part", parent: "OPS-7" });
    expect(written().variables.input).toMatchObject({ parentId: "OPS-7" });
    expect(service.refusals).toEqual([]);
  });
});

describe.skipIf(!hasSchema)("names", () => {
  const written = () => JSON.parse(service.requests.at(-1)?.body ?? "{}") as { variables: { input: JsonObject } };

  it("become ids, a team's own label before the workspace's", async () => {
    const context = await start();
    await call("create_issue", context);
    expect(written().variables.input).toMatchObject({
      teamId: IDS.ops,
      stateId: IDS.opsTodo,
      labelIds: [IDS.opsBug, IDS.sev1],
      projectId: IDS.project,
      assigneeId: IDS.bob,
      priority: 1,
    });
    expect(service.operations).toEqual(["FindIssue", "Destination", "CreateIssue"]);
  });

  it("find a team's label among those of many other teams", async () => {
    const context = await start();
    const { labels } = service.workspace;
    const web = labels.find(({ id }) => id === IDS.webOnly)?.["team"];
    for (let index = 10; index < 70; index++)
      labels.unshift({
        ...labels[0],
        id: IDS.bug.replace("cccc", `cc${index}`),
        name: "Bug",
        isGroup: false,
        team: web,
      });
    await call("create_issue", context);
    expect(written().variables.input).toMatchObject({ labelIds: [IDS.opsBug, IDS.sev1] });
  });

  it("may be ids and keys", async () => {
    const context = await start();
    await call("create_issue", context, {
      team: "web",
      title: "t",
      state: IDS.webTodo,
      labels: [IDS.webOnly],
      assignee: "Ada L.",
    });
    expect(written().variables.input).toMatchObject({
      teamId: IDS.web,
      stateId: IDS.webTodo,
      labelIds: [IDS.webOnly],
      assigneeId: IDS.ada,
    });
  });

  it("leave the team to the configuration", async () => {
    const context = await start();
    const config = { ...context.config, LINEAR_TEAM: "WEB" };
    await call("create_issue", { ...context, config }, { title: "t" });
    expect(written().variables.input).toMatchObject({ teamId: IDS.web });
    await expect(call("create_issue", context, { title: "Another" })).rejects.toThrow(
      "The key sees several teams: Operations, Web Shop. Give team, or set LINEAR_TEAM.",
    );
  });

  it.each([
    [{ team: "Oprations" }, 'no team "Oprations". It can see: Operations / OPS, Web Shop / WEB.'],
    [{ state: "Doing" }, 'no state of Operations "Doing". It can see: Done, Todo.'],
    [{ labels: ["bugs"] }, 'no label "bugs". It can see: Bug, '],
    [{ labels: ["Basket"] }, 'no label "Basket"'],
    [{ labels: ["Severity"] }, 'no label "Severity"'],
    [{ project: "Chekout" }, 'no project "Chekout". It can see: Checkout.'],
    [{ assignee: "eve" }, 'no user "eve". It can see: '],
  ] as const)("that do not exist are refused with those that do: %o", async (wrong, message) => {
    const context = await start();
    await expect(call("create_issue", context, { ...INPUTS["create_issue"], ...wrong })).rejects.toThrow(message);
    expect(service.operations).not.toContain("CreateIssue");
  });

  it.each([
    [{ team: "OSP" }, /no team "OSP".*Operations \/ OPS/],
    [{ label: "sev2" }, /no label "sev2".*It can see: sev1/],
    [{ state: "Doen" }, /no state "Doen".*It can see: Done/],
    [{ project: "Basket" }, /no project "Basket"/],
    [{ assignee: "eve" }, /no user "eve"/],
  ] as const)("that narrow a search to nothing because they are wrong are refused: %o", async (wrong, message) => {
    await expect(call("search_issues", await start(), wrong)).rejects.toThrow(message);
  });

  it("that exist may find nothing", async () => {
    expect(await call("search_issues", await start(), { team: "WEB", label: "sev1" })).toEqual({ issues: [] });
  });
});

describe.skipIf(!hasSchema)("pages", () => {
  it.each([
    ["search_issues", "issues", {}],
    ["list_teams", "teams", {}],
    ["list_labels", "labels", {}],
    ["list_states", "states", {}],
  ] as const)("%s goes on at next_cursor until all is read", async (name, list, input) => {
    const context = await start();
    const whole = await call(name, context, { ...input, limit: 30 });
    const parts: unknown[] = [];
    for (let cursor: unknown; ; ) {
      const page: JsonObject = await call(name, context, {
        ...input,
        limit: 1,
        ...(cursor ? { cursor: String(cursor) } : {}),
      });
      parts.push(...(page[list] as unknown[]));
      cursor = page["next_cursor"];
      if (!cursor) break;
    }
    expect(parts).toEqual(whole[list]);
    expect(parts.length).toBeGreaterThan(1);
    expect(whole["next_cursor"]).toBeUndefined();
  });

  it("list_comments goes on at next_cursor too", async () => {
    const context = await start();
    await call("add_comment", context, { issue: "OPS-7", body: "Again." });
    const { next_cursor: cursor, comments } = await call("list_comments", context, { issue: "OPS-7", limit: 1 });
    expect(comments).toMatchObject([{ body: "Again." }]);
    const second = await call("list_comments", context, { issue: "OPS-7", limit: 1, cursor: String(cursor) });
    expect(second["comments"]).toMatchObject([{ body: "Seen again.", author: "bob" }]);
  });
});

describe.skipIf(!hasSchema)("writes", () => {
  it.each([
    ["create_issue", "issues", "CreateIssue"],
    ["add_comment", "comments", "CreateComment"],
  ] as const)("%s finds its own work when the same call is made again", async (name, rows, operation) => {
    const context = await start();
    const before = service.workspace[rows].length;
    const made = await call(name, context);
    expect(made["existing"]).toBeUndefined();
    expect(await call(name, context)).toEqual({ ...made, existing: true });
    expect(service.workspace[rows]).toHaveLength(before + 1);
    await call(name, { ...context, callId: "run-2/3:file/0" });
    await call(name, context, { ...INPUTS[name], [name === "create_issue" ? "title" : "body"]: "Another." });
    expect(service.operations.filter((id) => id === operation)).toHaveLength(3);
    expect(service.workspace[rows]).toHaveLength(before + 3);
  });

  it("finds the work of an attempt that was a moment faster", async () => {
    const context = await start();
    const made = await call("create_issue", context);
    await service.close();
    const { workspace } = service;
    const again = await start(({ operation, before }) => {
      if (operation === "FindIssue" && before === 0) return { body: { data: { issues: { nodes: [] } } } };
      if (operation === "CreateIssue") service.workspace.issues.unshift(...workspace.issues.slice(0, 1));
      return undefined;
    });
    expect(await call("create_issue", again)).toEqual({ ...made, existing: true });
    expect(service.operations).toEqual(["FindIssue", "Destination", "CreateIssue", "FindIssue"]);
  });

  it("says that the comment to reply to does not exist, not that the issue does not", async () => {
    const context = await start();
    const reply = { issue: "OPS-7", body: "Yes.", parent_id: FLOOD_ID };
    await expect(call("add_comment", context, reply)).rejects.toThrow(/Entity not found: Comment/);
    expect(service.workspace.comments).toHaveLength(1);
  });

  it("updates by one request where no name is given", async () => {
    const context = await start();
    await call("update_issue", context, { issue: "OPS-7", title: "New", body: "Text.", assignee: "none" });
    expect(service.operations).toEqual(["UpdateIssue"]);
    expect(service.workspace.issues[0]).toMatchObject({ title: "New", description: "Text.", assignee: null });
  });

  it("adds and removes labels and keeps the others, or replaces all", async () => {
    const context = await start();
    expect(await call("update_issue", context, { issue: "OPS-7", add_labels: ["bug"] })).toMatchObject({
      labels: ["sev1", "Bug"],
    });
    expect(await call("update_issue", context, { issue: "OPS-7", remove_labels: ["sev1"] })).toMatchObject({
      labels: ["Bug"],
    });
    expect(await call("update_issue", context, { issue: "OPS-7", labels: ["sev1"] })).toMatchObject({
      labels: ["sev1"],
    });
    expect(await call("update_issue", context, { issue: "OPS-7", labels: [] })).toMatchObject({ labels: [] });
    const both = { issue: "OPS-7", labels: [], add_labels: ["bug"] };
    await expect(call("update_issue", context, both)).rejects.toThrow(/either `labels`/);
  });

  it("moves an issue to another team, with a state of that team", async () => {
    const context = await start();
    const moved = await call("update_issue", context, { issue: "OPS-7", team: "WEB", state: "Todo" });
    expect(moved).toMatchObject({ team: "Web Shop (WEB)", state: "Todo" });
  });

  it("does not send an update that changes nothing", async () => {
    const context = await start();
    await expect(call("update_issue", context, { issue: "OPS-7" })).rejects.toThrow(/at least one field/);
    expect(service.requests).toHaveLength(0);
  });
});

describe("the connection", () => {
  it("sends an OAuth token as a bearer and a personal key as it is", async () => {
    const context = await start(() => ({ status: 401 }));
    await failureOf(() => call("list_teams", context));
    const config = { ...context.config, LINEAR_API_KEY: "lin_oauth_canary" };
    await failureOf(() => call("list_teams", { ...context, config }));
    expect(service.requests.map(({ headers }) => headers.authorization)).toEqual([KEY, "Bearer lin_oauth_canary"]);
    expect(service.requests[0]?.headers["user-agent"]).toBe("skillflow");
  });

  it("goes through the call's own fetch", async () => {
    const context = await start();
    const blocked = { ...context, fetch: () => Promise.reject(new Error("this host is not allowed")) };
    await expect(call("create_issue", blocked)).rejects.toThrow("this host is not allowed");
    expect(service.requests).toHaveLength(0);
  });

  it("says so when nobody answers at LINEAR_API_URL", async () => {
    const context = await start();
    const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    const silent = { ...context, fetch: () => Promise.reject(new TypeError("fetch failed", { cause })) };
    await expect(call("add_comment", silent)).rejects.toThrow(
      /did not respond \(ECONNREFUSED\)\. Check LINEAR_API_URL/,
    );
  });

  it("refuses an address that is not one, and does without a key only by saying so", async () => {
    const context = await start();
    const odd = { ...context, config: { ...context.config, LINEAR_API_URL: "file:///etc/passwd" } };
    await expect(call("get_issue", odd)).rejects.toThrow(/is not an http or https address/);
    const { LINEAR_API_KEY: _, ...config } = context.config;
    await expect(call("get_issue", { ...context, config })).rejects.toThrow(/LINEAR_API_KEY is not set/);
  });

  it("keeps a key out of the error that an unusable key causes", async () => {
    const context = await start();
    const config = { ...context.config, LINEAR_API_KEY: "lin_api_canary\u0007bell" };
    expect((await failureOf(() => call("list_teams", { ...context, config }))).message).not.toContain("lin_api_canary");
  });
});

const NOTHING_YET = { issues: { nodes: [] }, comments: { nodes: [] }, issue: { attachments: { nodes: [] } } };

describeSkill(linear, {
  config: configFor,
  inputs: BY_ID,
  flood,
  reads: ({ body }) => (/"query (FindIssue|FindComment|Links)\b/.test(body) ? { data: NOTHING_YET } : undefined),
});
