import { clip, each, lenient, resultSchema, SNAPSHOT, textLike, trim } from "skillflow/internal";
import * as z from "zod";
import { slackTool } from "./failure.ts";
import { cursor } from "./fields.ts";
import { readApi } from "./web-api.ts";

/** Tools that list channels and users. Slack cannot filter, so they search one page and report if more exist. */

const name = z.string().min(1).max(80).optional().describe("Text in the name.");

const LOOKED_THROUGH = 200;
const MOST_SHOWN = 50;

export const directoryTools = [
  slackTool({
    name: "list_channels",
    description: "Lists channels that the bot can see, with topic and membership. Searches 200 channels per call.",
    ...SNAPSHOT,
    reads: "private",
    selects: ["name"],
    needs: ["SLACK_BOT_TOKEN"],
    input_schema: z.strictObject({ name, cursor }),
    output_schema: resultSchema(
      "channels looked_through",
      `channels:[{ id name topic purpose is_member:flag members:number }] looked_through:number left_out:number
        next_cursor`,
    ),
    work: async (context, input) => {
      const types = "public_channel,private_channel";
      const query = { types, exclude_archived: true, limit: LOOKED_THROUGH, cursor: input.cursor };
      const { channels, response_metadata } = channelPage.parse(await readApi("conversations.list", query, context));
      const found = channels.filter((channel) => contains(input.name, [channel.name]));
      return trim({
        channels: found.slice(0, MOST_SHOWN).map(({ id, name: called, topic, purpose, is_member, num_members }) => ({
          id,
          name: `#${called}`,
          topic: brief(topic?.value),
          purpose: brief(purpose?.value),
          is_member,
          members: num_members,
        })),
        ...progress(channels.length, found.length, response_metadata),
      });
    },
  }),
  slackTool({
    name: "list_users",
    description: "Lists people and bots, or the person with an e-mail address. Searches 200 people per call.",
    ...SNAPSHOT,
    reads: "private",
    selects: ["name", "email"],
    needs: ["SLACK_BOT_TOKEN"],
    input_schema: z.strictObject({
      name,
      email: textLike(/^[^\s@<>"]+@[^\s@<>"]+$/, 200).optional(),
      cursor,
    }),
    output_schema: resultSchema(
      "users looked_through",
      "users:[{ id name real_name title timezone is_bot:flag }] looked_through:number left_out:number next_cursor",
    ),
    work: async (context, input) => {
      if (input.email) {
        const { user: found } = one.parse(await readApi("users.lookupByEmail", { email: input.email }, context));
        return trim({ users: [userOf(found)], looked_through: 1 });
      }
      const query = { limit: LOOKED_THROUGH, cursor: input.cursor };
      const { members, response_metadata } = userPage.parse(await readApi("users.list", query, context));
      const active = members.filter(({ deleted }) => !deleted);
      const found = active.filter((each) =>
        contains(input.name, [each.name, each.real_name, each.profile?.display_name]),
      );
      return trim({
        users: found.slice(0, MOST_SHOWN).map(userOf),
        ...progress(members.length, found.length, response_metadata),
      });
    },
  }),
];

const some = lenient(z.string());
const flag = lenient(z.boolean());
const next = lenient(z.object({ next_cursor: some }));
const worded = lenient(z.object({ value: some }));

const channel = z.object({
  id: z.string(),
  name: some,
  ...each(worded, "topic purpose"),
  is_member: flag,
  num_members: lenient(z.number()),
});
const channelPage = z.object({ channels: z.array(channel), response_metadata: next });

const user = z.object({
  id: z.string(),
  ...each(some, "name real_name"),
  ...each(flag, "deleted is_bot"),
  tz: some,
  profile: lenient(z.object({ title: some, display_name: some })),
});
const one = z.object({ user });
const userPage = z.object({ members: z.array(user), response_metadata: next });

function userOf({ id, name: handle, real_name, is_bot, tz, profile }: z.infer<typeof user>) {
  const shown = profile?.display_name || handle;
  return { id, name: shown, real_name, title: profile?.title || undefined, timezone: tz, is_bot: is_bot || undefined };
}

/** Shortens a text so that a whole page fits into a result. */
function brief(text: string | null | undefined): string | undefined {
  return text ? clip(text, 120) : undefined;
}

function contains(wanted: string | undefined, names: readonly (string | null | undefined)[]): boolean {
  return wanted === undefined || names.some((each) => each?.toLowerCase().includes(wanted.toLowerCase()));
}

function progress(looked: number, found: number, metadata: z.infer<typeof next>) {
  return {
    looked_through: looked,
    left_out: found > MOST_SHOWN ? found - MOST_SHOWN : undefined,
    next_cursor: metadata?.next_cursor || undefined,
  };
}
