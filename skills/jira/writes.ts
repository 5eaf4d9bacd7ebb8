import { plainMarkerOf, resultSchema, textLike, WRITE_ONCE } from "skillflow/internal";
import * as z from "zod";
import { documentOf, markupOf, textOf } from "./document.ts";
import { briefOf, comment, commentsOf, ISSUE, type Issue, linkOf, readIssue, search, transitionsOf } from "./issues.ts";
import { isNamed, isSame, issueKey, type Jira, jiraTool, myself, text, WRITES } from "./service.ts";

const name = z.string().min(1).max(100);

export const writeTools = [
  jiraTool({
    name: "create_issue",
    description: "Creates an issue. Search for an existing one first. A repeated call creates no second one.",
    ...WRITE_ONCE,
    targets: ["project"],
    settled_by: { project: "JIRA_PROJECT" },
    input_schema: z.strictObject({
      project: textLike(/^[A-Z][A-Z0-9_]+$/, 40)
        .optional()
        .describe("Key of the project, such as OPS. Default: the configured one."),
      type: name.optional().describe("Issue type of the project, such as Bug or Incident. Default Task."),
      title: z.string().min(1).max(255),
      text: z.string().max(30_000).optional().describe("Plain text, with code between ```."),
      labels: z.array(textLike(/^\S+$/, 255)).max(20).optional(),
      priority: name.optional().describe("Such as High, if the project uses priorities."),
      parent: issueKey.optional().describe("The parent epic or issue."),
    }),
    output_schema: resultSchema("key", "key url existing:flag"),
    work: async (jira, input, context) => {
      const project = input.project ?? context.config["JIRA_PROJECT"]?.trim();
      if (!project) throw new Error("Give the key of the project: JIRA_PROJECT is not set.");
      const marker = plainMarkerOf(context, input);
      const known = await findIssue(jira, project, marker);
      if (known) return { key: known.key, url: jira.pageOf(known.key), existing: true };
      const fields = {
        project: { key: project },
        issuetype: { name: input.type ?? "Task" },
        summary: input.title,
        description: bodyOf(jira, [input.text, marker].filter(Boolean).join("\n\n")),
        labels: input.labels,
        priority: input.priority && { name: input.priority },
        parent: input.parent && { key: input.parent },
      };
      const { key } = await jira.ask({
        path: ["issue"],
        body: { fields },
        effect: "write",
        needs: WRITES,
        answer: z.object({ key: z.string() }),
      });
      return { key, url: jira.pageOf(key) };
    },
  }),
  jiraTool({
    name: "add_comment",
    description: "Comments on an issue, as plain text with code between ```. A repeated call adds no second comment.",
    ...WRITE_ONCE,
    targets: [],
    input_schema: z.strictObject({ issue: issueKey, text: z.string().min(1).max(30_000) }),
    output_schema: resultSchema("id", "id created_at existing:flag"),
    work: async (jira, input, context) => {
      const marker = plainMarkerOf(context, input);
      const { comments } = await commentsOf(jira, input.issue, { startAt: 0, maxResults: 100 });
      const marked = comments.filter(({ body }) => textOf(body).includes(marker));
      const own = marked.length > 0 ? await myself(jira) : undefined;
      // Another user may copy a marker, so only the account's own comments count.
      const known = marked.find(({ author }) => isSame(author, own));
      if (known) return { id: known.id, created_at: known.created, existing: true };
      const { id, created } = await jira.ask({
        path: ["issue", input.issue, "comment"],
        body: { body: bodyOf(jira, `${input.text}\n\n${marker}`) },
        effect: "write",
        needs: WRITES,
        answer: comment,
      });
      return { id, created_at: created };
    },
  }),
  jiraTool({
    name: "transition_issue",
    description:
      "Moves an issue to another status from `can_move_to` of get_issue. For an unknown name, the error lists the possible ones. Does nothing if the issue already has the status.",
    ...WRITE_ONCE,
    targets: [],
    input_schema: z.strictObject({ issue: issueKey, to: name }),
    output_schema: resultSchema("key status", `${ISSUE} existing:flag`),
    work: async (jira, input) => {
      const now = await readIssue(jira, input.issue);
      if (isNamed(now.fields.status?.name, input.to)) return { ...briefOf(jira, now), existing: true };
      const transitions = await transitionsOf(jira, input.issue);
      const wanted =
        transitions.find(({ to }) => isNamed(to?.name, input.to)) ??
        transitions.find((transition) => isNamed(transition.name, input.to));
      if (!wanted)
        throw new Error(`${input.issue} cannot move to this status. It can move to: ${namesOf(transitions)}.`);
      const path = ["issue", input.issue, "transitions"];
      const body = { transition: { id: wanted.id } };
      await jira.ask({ path, body, effect: "write", needs: WRITES, isText: true, answer: z.string() });
      return briefOf(jira, await readIssue(jira, input.issue));
    },
  }),
  jiraTool({
    name: "link_issues",
    description:
      "Links two issues: `issue` relates to, blocks, duplicates or causes `other`. For an unknown kind, the error lists the existing ones. A repeated call adds no second link.",
    ...WRITE_ONCE,
    targets: [],
    input_schema: z.strictObject({
      issue: issueKey,
      other: issueKey,
      kind: name.optional().describe("Such as Blocks, Duplicate or Problem/Incident. Default Relates."),
    }),
    output_schema: resultSchema("issue other", "issue other relation existing:flag"),
    work: async (jira, input) => {
      if (input.issue === input.other) throw new Error("An issue cannot be linked to itself.");
      const { issueLinkTypes } = await jira.ask({ path: ["issueLinkType"], answer: typesAnswer });
      const kind = input.kind ?? "Relates";
      const type = issueLinkTypes.find((one) => [one.name, one.outward].some((word) => isNamed(word, kind)));
      if (!type) throw new Error(`There is no link type ${kind}. Use one of: ${namesOf(issueLinkTypes)}.`);
      const told = { issue: input.issue, other: input.other, relation: type.outward };
      const now = await readIssue(jira, input.issue);
      const known = now.fields.issuelinks?.some(
        (link) => link.type.name === type.name && link.outwardIssue?.key === input.other,
      );
      if (known) return { ...told, existing: true };
      const body = {
        type: { name: type.name },
        inwardIssue: { key: input.issue },
        outwardIssue: { key: input.other },
      };
      await jira.ask({ path: ["issueLink"], body, effect: "write", needs: WRITES, isText: true, answer: z.string() });
      // Re-reads the link, so that the result shows its direction as Jira does.
      const shown = (await readIssue(jira, input.issue)).fields.issuelinks?.map(linkOf);
      const made = shown?.find(({ key, kind: shownKind }) => key === input.other && shownKind === type.name);
      return { ...told, relation: made?.relation ?? told.relation };
    },
  }),
];

const typesAnswer = z.object({ issueLinkTypes: z.array(z.object({ name: z.string(), outward: text })) });

/** Maximum number of pages to search for an issue that another run may have filed. */
const MOST_PAGES = 5;

/** Finds an issue by its marker among the account's own in this project, because another user may copy a marker. */
async function findIssue(jira: Jira, project: string, marker: string): Promise<Issue | undefined> {
  const jql = `project = "${project}" AND creator = currentUser() ORDER BY created DESC`;
  let cursor: string | undefined;
  for (let page = 1; page <= MOST_PAGES; page++) {
    const found = await search(jira, { jql, fields: ["description"], limit: 50, cursor });
    const known = found.issues.find(({ fields }) => textOf(fields.description).includes(marker));
    if (known || found.next === undefined) return known;
    cursor = found.next;
  }
  return undefined;
}

function bodyOf({ isCloud }: Jira, words: string) {
  return isCloud ? documentOf(words) : markupOf(words);
}

function namesOf(
  all: readonly {
    readonly name: string;
    readonly to?: { readonly name?: string | null | undefined } | null | undefined;
  }[],
) {
  return all.map(({ name: own, to }) => to?.name ?? own).join(", ") || "none";
}
