import type { ToolContext } from "skillflow";
import * as z from "zod";
import type { blocks } from "./blocks.ts";

/** Users and groups that messages may mention: only those in SLACK_MENTIONS. */

export const mention = z
  .array(z.string().min(1).max(80))
  .max(5)
  .optional()
  .describe("Whom to notify, by a name or id listed in SLACK_MENTIONS.");

const ENTRY = /^(?:([^\s=,<>@&|]{1,60})=)?([UWS][A-Z0-9]{5,20}|here|channel|everyone)$/;

interface Mentionable {
  readonly name: string;
  readonly id: string;
}

export function personOf(named: string, context: ToolContext): string {
  const { id } = listed(named, context);
  if (/^[UW]/.test(id)) return id;
  throw new Error(`${named} is not a person. Give a user, whose id starts with U or W.`);
}

/** Returns the mentions to put before a message's text, or "" if there are none. */
export function mentionText(names: readonly string[] | undefined, context: ToolContext): string {
  return [...new Set((names ?? []).map((name) => markOf(listed(name, context).id)))].join(" ");
}

type Block = z.infer<typeof blocks>[number];

/** Returns a block with the mentions, because blocks hide the text. It needs no escaping: no model wrote it. */
export function mentionBlock(mentions: string) {
  return { type: "section", text: { type: "mrkdwn", text: mentions } } as const satisfies Block;
}

function markOf(id: string): string {
  if (id.startsWith("S")) return `<!subteam^${id}>`;
  return /^[UW]/.test(id) ? `<@${id}>` : `<!${id}>`;
}

function listed(named: string, context: ToolContext): Mentionable {
  const known = mentionable(context);
  const wanted = named.replace(/^@/, "");
  const found = known.find(({ name, id }) => name === wanted || id === wanted);
  if (found) return found;
  const names = known.map(({ name }) => name);
  const others = names.length > 0 ? `It lists ${names.slice(0, 30).join(", ")}.` : "It is not set, so no one can be.";
  throw new Error(`"${named.slice(0, 80)}" cannot be notified: SLACK_MENTIONS does not list it. ${others}`);
}

function mentionable({ config }: ToolContext): readonly Mentionable[] {
  const entries = (config["SLACK_MENTIONS"] ?? "").split(",").map((entry) => entry.trim());
  return entries
    .filter((entry) => entry !== "")
    .map((entry) => {
      const [, name, id] = ENTRY.exec(entry) ?? [];
      if (id) return { name: name ?? id, id };
      throw new Error(
        `SLACK_MENTIONS: "${entry.slice(0, 80)}" must be an id (U…, W…, S…), here, channel, everyone, or name=id.`,
      );
    });
}
