import { lenient, resultSchema, textLike, WRITE_ONCE } from "skillflow/internal";
import * as z from "zod";
import { briefOf, ISSUE, readIssue } from "./issues.ts";
import { isNamed, isSame, issueKey, type Jira, jiraTool, myself, type person, READS, WRITES } from "./service.ts";

const label = textLike(/^\S+$/, 255);
const CHANGED = resultSchema("key", `${ISSUE} existing:flag`);

export const changeTools = [
  jiraTool({
    name: "update_issue",
    description:
      "Changes an issue's title or priority, and adds or removes labels. Other fields stay. It cannot change the text: use add_comment. To change the status: transition_issue. To assign it: assign_issue. Values that are already set are not written again.",
    ...WRITE_ONCE,
    targets: [],
    input_schema: z.strictObject({
      issue: issueKey,
      title: z.string().min(1).max(255).optional(),
      priority: z.string().min(1).max(100).optional().describe("Such as High, if the project uses priorities."),
      add_labels: z.array(label).max(20).optional(),
      remove_labels: z.array(label).max(20).optional(),
    }),
    output_schema: CHANGED,
    work: async (jira, input) => {
      const now = await readIssue(jira, input.issue);
      const has = (one: string) => now.fields.labels?.includes(one) ?? false;
      const both = input.add_labels?.find((one) => input.remove_labels?.includes(one));
      if (both) throw new Error(`${both} is in both the labels to add and the labels to remove.`);
      const labels = [
        ...(input.add_labels ?? []).filter((one) => !has(one)).map((add) => ({ add })),
        ...(input.remove_labels ?? []).filter(has).map((remove) => ({ remove })),
      ];
      const fields = {
        ...(input.title && input.title !== now.fields.summary ? { summary: input.title } : {}),
        ...(input.priority && !isNamed(now.fields.priority?.name, input.priority)
          ? { priority: { name: input.priority } }
          : {}),
      };
      const body = {
        ...(Object.keys(fields).length > 0 ? { fields } : {}),
        ...(labels.length > 0 ? { update: { labels } } : {}),
      };
      if (Object.keys(body).length === 0) return { ...briefOf(jira, now), existing: true };
      await put(jira, ["issue", input.issue], body);
      return briefOf(jira, await readIssue(jira, input.issue));
    },
  }),
  jiraTool({
    name: "assign_issue",
    description:
      "Assigns an issue to a person by name or e-mail address, to `me`, or to `nobody`. For a name that matches none or several, the error lists the candidates. Assigning the current assignee again changes nothing.",
    ...WRITE_ONCE,
    targets: [],
    input_schema: z.strictObject({ issue: issueKey, to: z.string().min(1).max(200) }),
    output_schema: CHANGED,
    work: async (jira, { issue, to }) => {
      const now = await readIssue(jira, issue);
      const wanted = to === "nobody" ? undefined : to === "me" ? await myself(jira) : await whoIs(jira, issue, to);
      const has = now.fields.assignee;
      if (wanted ? isSame(has, wanted) : !has) return { ...briefOf(jira, now), existing: true };
      const body = jira.isCloud ? { accountId: wanted?.accountId ?? null } : { name: wanted?.name ?? null };
      await put(jira, ["issue", issue, "assignee"], body);
      return briefOf(jira, await readIssue(jira, issue));
    },
  }),
];

function put({ ask }: Jira, path: readonly string[], body: unknown) {
  return ask({ path, method: "PUT", body, effect: "write", needs: WRITES, isText: true, answer: z.string() });
}

const candidate = z.object({
  displayName: z.string().nullish(),
  accountId: z.string().nullish(),
  name: z.string().nullish(),
  emailAddress: lenient(z.string()),
});

/** Finds an assignable user by full name, email address or id, or the only search result. */
async function whoIs({ ask, isCloud }: Jira, issueKey: string, to: string): Promise<z.infer<typeof person>> {
  const found = await ask({
    path: ["user", "assignable", "search"],
    query: { issueKey, [isCloud ? "query" : "username"]: to, maxResults: 20 },
    needs: `${READS}, and the Browse users and groups permission`,
    answer: z.array(candidate),
  });
  const words = to.trim().toLowerCase();
  const exact = found.filter((one) => {
    return [one.displayName, one.emailAddress, one.accountId, one.name].some((own) => own?.toLowerCase() === words);
  });
  const [only, ...others] = exact.length > 0 ? exact : found;
  if (only && others.length === 0) return only;
  const names = found.slice(0, 10).map(({ displayName, name }) => displayName ?? name);
  if (!only) throw new Error(`No person who can be assigned ${issueKey} is named ${to}.`);
  throw new Error(`${to} matches several people: ${names.join(", ")}. Give the full name or the e-mail address.`);
}
