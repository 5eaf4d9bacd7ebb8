import type { ToolContext } from "skillflow";
import * as z from "zod";
import type { blocks } from "./blocks.ts";

/** Whom messages may ping: those that SLACK_MENTIONS lists, and nobody else, whatever a text says. */

export const mention = z
  .array(z.string().min(1).max(80))
  .max(5)
  .optional()
  .describe("Whom it pings, by a name or id that SLACK_MENTIONS lists. A text pings nobody.");

const ENTRY = /^(?:([^\s=,<>@&|]{1,60})=)?([UWS][A-Z0-9]{5,20}|here|channel|everyone)$/;

interface Mentionable {
  readonly name: string;
  readonly id: string;
}

/** The person that a message goes to alone. */
export function personOf(named: string, context: ToolContext): string {
  const { id } = listed(named, context);
  if (/^[UW]/.test(id)) return id;
  throw new Error(`${named} is no person: a message to one goes to a user, whose id begins with U or W.`);
}

/** What stands for mentions in a message, before its text; empty where nobody is pinged. */
export function mentionText(names: readonly string[] | undefined, context: ToolContext): string {
  return [...new Set((names ?? []).map((name) => markOf(listed(name, context).id)))].join(" ");
}

type Block = z.infer<typeof blocks>[number];

/** Blocks hide the text, so a mention needs a block of its own. It is ready to be sent: no model wrote it. */
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
  const others = names.length > 0 ? `It lists ${names.slice(0, 30).join(", ")}.` : "It is not set, so nobody may be.";
  throw new Error(`"${named.slice(0, 80)}" may not be pinged: SLACK_MENTIONS does not list it. ${others}`);
}

function mentionable({ config }: ToolContext): readonly Mentionable[] {
  const entries = (config["SLACK_MENTIONS"] ?? "").split(",").map((entry) => entry.trim());
  return entries
    .filter((entry) => entry !== "")
    .map((entry) => {
      const [, name, id] = ENTRY.exec(entry) ?? [];
      if (id) return { name: name ?? id, id };
      throw new Error(
        `SLACK_MENTIONS: "${entry.slice(0, 80)}" is neither an id (U…, W…, S…), nor here, channel, everyone, nor name=id.`,
      );
    });
}
