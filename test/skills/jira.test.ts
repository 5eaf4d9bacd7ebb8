import type { Json, JsonObject, ToolContext } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { documentOf, markupOf, textOf } from "../../skills/jira/document.ts";
import jira from "../../skills/jira/skill.ts";
import { describeFaults } from "../contracts/faults.ts";
import { callTool, describeSkill, fits } from "../contracts/skill.ts";
import { EMAIL, flood, startJira, TOKEN } from "../services/jira.ts";
import { forwarding, type RestService, type Script } from "../services/rest.ts";

/** One good input for every tool. */
const INPUTS: Readonly<Record<string, JsonObject>> = {
  search_issues: { jql: "project = OPS ORDER BY updated DESC" },
  get_issue: { issue: "OPS-7" },
  create_issue: { project: "OPS", type: "Bug", title: "Payments fail", text: "Since 1.14.0.", labels: ["incident"] },
  add_comment: { issue: "OPS-7", text: "Seen again." },
  transition_issue: { issue: "OPS-7", to: "done" },
  link_issues: { issue: "OPS-7", other: "OPS-10", kind: "blocks" },
  update_issue: { issue: "OPS-7", priority: "Highest", add_labels: ["payments", "incident"], remove_labels: ["new"] },
  assign_issue: { issue: "OPS-7", to: "ada@example.com" },
};
const NAMES = jira.tools.map((tool) => tool.name);

let service: RestService;
afterEach(() => service?.close());

async function start(script?: Script, parts: Readonly<Record<string, string>> = {}): Promise<ToolContext> {
  service = await startJira(script);
  return toolContext({ config: { ...configFor(service.url), ...parts } });
}

function configFor(url: string): Record<string, string> {
  return { JIRA_BASE_URL: url, JIRA_USER_EMAIL: EMAIL, JIRA_API_TOKEN: TOKEN };
}

const DATA_CENTER = { JIRA_USER_EMAIL: "" };

function call(name: string, context: ToolContext, input: JsonObject = INPUTS[name] ?? {}): Promise<JsonObject> {
  return callTool(jira, name, input, context) as Promise<JsonObject>;
}

/** Without the address, whose port changes. */
const steady = (value: Json) => JSON.parse(JSON.stringify(value).replaceAll(service.url, "https://jira.test")) as Json;

const sent = () => JSON.parse(service.requests.at(-1)?.body ?? "null") as JsonObject;

describe("every jira tool, against the published contract", () => {
  it.each(NAMES)("%s sends what Cloud's contract allows and returns what a model needs", async (name) => {
    const context = await start();
    const result = await call(name, context);
    expect(service.refusals).toEqual([]);
    expect(steady(result)).toMatchSnapshot();
  });

  it.each(NAMES)("%s sends what Data Center's contract allows", async (name) => {
    await call(name, await start(undefined, DATA_CENTER));
    expect(service.refusals).toEqual([]);
    expect(service.requests.every(({ url }) => url.startsWith("/rest/api/2/"))).toBe(true);
  });

  it("is live when it knows whose token it is", async () => {
    expect(await jira.probe?.(await start())).toBe("signed in as Mia Krystof on Cloud");
    await service.close();
    expect(await jira.probe?.(await start(undefined, DATA_CENTER))).toBe("signed in as Mia Krystof on Data Center");
    await service.close();
    await expect(jira.probe?.(await start(undefined, { JIRA_API_TOKEN: "other" }))).rejects.toThrow(
      /refused authentication \(401 .*Client must be authenticated/,
    );
  });
});

describe("what jira finds", () => {
  it("goes on by Cloud's token, or by Data Center's count", async () => {
    const cloud = await start();
    const { next_cursor } = await call("search_issues", cloud);
    await call("search_issues", cloud, { jql: "project = OPS", cursor: next_cursor as string });
    expect(sent()).toMatchObject({ nextPageToken: "CAEaAggD" });
    await service.close();
    const own = await start(undefined, DATA_CENTER);
    expect(await call("search_issues", own)).toMatchObject({ total: 3, next_cursor: "1" });
    expect(await call("search_issues", own, { jql: "project = OPS", cursor: "2" })).toMatchObject({ total: 3 });
    expect(sent()).toMatchObject({ startAt: 2 });
    await expect(call("search_issues", own, { jql: "x", cursor: "CAEaAggD" })).rejects.toThrow(
      /not the next_cursor of a search/,
    );
  });

  it("says of nothing that it is nothing this account may see, and of wrong JQL what is wrong with it", async () => {
    const context = await start(() => ({ body: { issues: [], isLast: true } }));
    expect(await call("search_issues", context)).toEqual({
      issues: [],
      note: expect.stringContaining("visible to this account"),
    });
    await service.close();
    const errorMessages = ["Field 'sumary' does not exist or you do not have permission to view it."];
    const wrong = await start(() => ({ status: 400, body: { errorMessages, warningMessages: [] } }));
    await expect(call("search_issues", wrong)).rejects.toThrow(
      /found the request invalid .*Field 'sumary' does not exist/,
    );
  });

  it("of an issue is its text as people read it, its links and where it can go", async () => {
    const result = await call("get_issue", await start());
    expect(result["text"]).toBe(
      [
        "## What happened\n",
        "Payments time out\n@Mia Krystof saw this run (https://ci.example/7)\n",
        "- first\n- second\n",
        "```\nError: 502\n```\n",
        "| p99 | 12 s |\n",
        "[attachment]",
      ].join("\n"),
    );
    expect(result).toMatchObject({
      links: [
        { relation: "blocks", key: "OPS-9" },
        { relation: "is duplicated by", key: "OPS-8" },
      ],
      can_move_to: ["Done", "Waiting"],
      comments_total: 3,
      next_offset: 1,
    });
  });
});

it("get_issue continues after the last shown comment of jira, if not all fit into the result", async () => {
  const context = await start(({ operation, query }) => {
    if (operation !== "getComments") return undefined;
    const comments = Array.from({ length: Number(query["maxResults"]) }, (_, at) => ({
      id: `${at}`,
      author: { displayName: "x".repeat(300) },
      body: "x".repeat(2000),
    }));
    return { body: { comments, total: 200 } };
  });
  const { comments, next_offset } = await call("get_issue", context, { issue: "OPS-7", limit: 50, offset: 3 });
  expect(next_offset).toBe(3 + (comments as JsonObject[]).length);
});

describe("a text for jira", () => {
  it("becomes paragraphs, links and blocks of code, and is the same when it is read", () => {
    const text = "See https://ci.example/7.\nsecond line\n\n```\nError: 502\n  at pay\n```\n\nEnd.";
    expect(textOf(documentOf(text))).toBe(text);
    expect(documentOf(text).content[0]).toEqual({
      type: "paragraph",
      content: [
        { type: "text", text: "See " },
        {
          type: "text",
          text: "https://ci.example/7",
          marks: [{ type: "link", attrs: { href: "https://ci.example/7" } }],
        },
        { type: "text", text: "." },
        { type: "hardBreak" },
        { type: "text", text: "second line" },
      ],
    });
    expect(textOf(documentOf("open\n```\nnever closed"))).toBe("open\n\nnever closed");
  });

  it("of a Data Center is its markup, in which nobody is called", () => {
    expect(markupOf("```ts\nconst a = 1;\n```\n[~mia] look")).toBe("{code}\nconst a = 1;\n{code}\n[\\~mia] look");
  });

  it("that is nested without end is read to a depth", () => {
    let node: Json = { type: "text", text: "deep" };
    for (let depth = 0; depth < 5000; depth++) node = { type: "panel", content: [node] };
    expect(textOf(node)).toBe("");
  });
});

describe("what jira is told", () => {
  it("as an issue is written once, of the configured project where a call names none", async () => {
    const issues: Json[] = [];
    const context = await start(
      ({ operation, body }) => {
        const { fields } = body as { fields: JsonObject };
        if (operation === "createIssue")
          issues.push({ key: "OPS-24", fields: { description: fields["description"] ?? "" } });
        return operation === "search" ? { body: { issues } } : undefined;
      },
      { JIRA_PROJECT: "OPS" },
    );
    const input = { title: "Payments fail" };
    await call("create_issue", context, input);
    expect(sent()).toMatchObject({ fields: { project: { key: "OPS" }, issuetype: { name: "Task" } } });
    expect(await call("create_issue", context, input)).toMatchObject({ key: "OPS-24", existing: true });
    expect(issues).toHaveLength(1);
    await expect(call("create_issue", await start(), input)).rejects.toThrow(/JIRA_PROJECT is not set/);
  });

  it("as a comment is written once, though somebody else copied its mark", async () => {
    const comments: JsonObject[] = [];
    const own = { accountId: "5b10a2844c20165700ede21g" };
    const context = await start(({ operation, body }) => {
      if (operation === "addComment")
        comments.push({ id: `${comments.length}`, body: body["body"] ?? "", author: own });
      return operation === "getComments" ? { body: { comments, total: comments.length } } : undefined;
    });
    await call("add_comment", context);
    comments[0] = { ...comments[0], author: { accountId: "other" } };
    expect((await call("add_comment", context))["existing"]).toBeUndefined();
    expect(await call("add_comment", context)).toMatchObject({ id: "1", existing: true });
    expect(comments).toHaveLength(2);
  });

  it("as a move goes by the name of a status or of a step, and a wrong one is answered with those that are", async () => {
    const context = await start();
    await call("transition_issue", context, { issue: "OPS-7", to: "Close issue" });
    expect(service.operations).toEqual(["getIssue", "getTransitions", "doTransition", "getIssue"]);
    expect(await call("transition_issue", context, { issue: "OPS-7", to: "in progress" })).toMatchObject({
      existing: true,
    });
    await expect(call("transition_issue", context, { issue: "OPS-7", to: "Gone" })).rejects.toThrow(
      /It can move to: Done, Waiting\.$/,
    );
    expect(service.operations.filter((id) => id === "doTransition")).toHaveLength(1);
  });

  it("as a link is made once, from the issue to the other, of a kind that there is", async () => {
    const context = await start();
    await call("link_issues", context);
    const made = service.requests.find(({ url }) => url.endsWith("/issueLink"));
    const link = { type: { name: "Blocks" }, inwardIssue: { key: "OPS-7" }, outwardIssue: { key: "OPS-10" } };
    expect(JSON.parse(made?.body ?? "")).toEqual(link);
    expect(await call("link_issues", context, { issue: "OPS-7", other: "OPS-9", kind: "Blocks" })).toMatchObject({
      existing: true,
    });
    expect(service.operations).toEqual([
      "getIssueLinkTypes",
      "getIssue",
      "linkIssues",
      "getIssue",
      "getIssueLinkTypes",
      "getIssue",
    ]);
    await expect(call("link_issues", context, { issue: "OPS-7", other: "OPS-9", kind: "Causes" })).rejects.toThrow(
      /There is no link type Causes\. Use one of: Duplicate, Blocks, Relates/,
    );
    await expect(call("link_issues", context, { issue: "OPS-7", other: "OPS-7" })).rejects.toThrow(/linked to itself/);
    expect(service.operations.filter((id) => id === "linkIssues")).toHaveLength(1);
  });

  it("as a change writes what is not so yet, and nothing where all is", async () => {
    const context = await start();
    await call("update_issue", context);
    const made = service.requests.find(({ method }) => method === "PUT");
    expect(JSON.parse(made?.body ?? "")).toEqual({
      fields: { priority: { name: "Highest" } },
      update: { labels: [{ add: "payments" }] },
    });
    const same = { issue: "OPS-7", priority: "high", add_labels: ["incident"], remove_labels: ["gone"] };
    expect(await call("update_issue", context, same)).toMatchObject({ key: "OPS-7", existing: true });
    const torn = { issue: "OPS-7", add_labels: ["a"], remove_labels: ["a"] };
    await expect(call("update_issue", context, torn)).rejects.toThrow(
      /a is in both the labels to add and the labels to remove/,
    );
    expect(service.operations).toEqual(["getIssue", "editIssue", "getIssue", "getIssue", "getIssue"]);
  });

  it("as an assignment goes to one person who is meant, to nobody, or to who has it already", async () => {
    const context = await start();
    await call("assign_issue", context);
    expect(service.requests.filter(({ method }) => method === "PUT").map(({ body }) => JSON.parse(body))).toEqual([
      { accountId: "5b10a2844c20165700ede22h" },
    ]);
    expect(await call("assign_issue", context, { issue: "OPS-7", to: "me" })).toMatchObject({ existing: true });
    await expect(call("assign_issue", context, { issue: "OPS-7", to: "Ad" })).rejects.toThrow(
      /matches several people: Ada Young, Ada Moreau/,
    );
    await call("assign_issue", context, { issue: "OPS-7", to: "nobody" });
    expect(JSON.parse(service.requests.findLast(({ method }) => method === "PUT")?.body ?? "")).toEqual({
      accountId: null,
    });
    await service.close();
    const alone = await start(({ operation }) => (operation === "findAssignableUsers" ? { body: [] } : undefined));
    await expect(call("assign_issue", alone, { issue: "OPS-7", to: "Eve" })).rejects.toThrow(
      /No person who can be assigned OPS-7/,
    );
    await service.close();
    await call("assign_issue", await start(undefined, DATA_CENTER), { issue: "OPS-7", to: "Ada Young" });
    expect(JSON.parse(service.requests.find(({ method }) => method === "PUT")?.body ?? "")).toEqual({ name: "ada" });
  });

  it("and whose fate is unclear is not tried again by itself", async () => {
    const context = await start(({ operation }) =>
      operation === "createIssue" ? { status: 502, body: {} } : undefined,
    );
    await expect(call("create_issue", context)).rejects.toThrow(/Whether it took effect is unclear/);
    expect(service.operations.at(-1)).toBe("createIssue");
    expect(service.operations.filter((id) => id === "createIssue")).toHaveLength(1);
  });
});

it.each([
  ["get_issue", { issue: "../myself" }],
  ["get_issue", { issue: "ops-7" }],
  ["search_issues", { jql: "" }],
  ["create_issue", { title: "x", project: 'OPS" OR project = "X' }],
  ["create_issue", { title: "x", labels: ["two words"] }],
] as const)("%s refuses %o", (name, input) => {
  expect(fits(jira.tools.find((tool) => tool.name === name)?.input_schema, input as JsonObject)).toBe(false);
});

it("an issue's brief holds no member that Jira did not tell", async () => {
  const context = await start(({ operation }) =>
    operation === "search"
      ? { body: { issues: [{ key: "OPS-1", fields: { summary: "Payments time out at night" } }] } }
      : undefined,
  );
  expect(steady(await call("search_issues", context))).toEqual({
    issues: [{ key: "OPS-1", title: "Payments time out at night", url: "https://jira.test/browse/OPS-1" }],
  });
});

const flooded = await startJira(flood);
afterAll(() => flooded.close());

describeFaults(jira, {
  service: "Jira",
  address: "JIRA_BASE_URL",
  keys: ["JIRA_API_TOKEN"],
  config: configFor,
  inputs: INPUTS,
});
describeSkill(jira, { config: configFor, inputs: INPUTS, flood: forwarding(flooded) });
