import type { Channel } from "../channel.ts";
import { bodyText, heading } from "../notice.ts";

export const consoleChannel: Channel = {
  needs: [],
  open:
    ({ logger }) =>
    async (notice) => {
      logger.info(consoleText(`Notification: ${heading(notice)}\n${bodyText(notice)}`));
      return {};
    },
};

/** Disables CI commands in logs: `::set-output` at the start of a line, `##[command]` anywhere. */
function consoleText(text: string): string {
  return text.replace(/##(?=\[)/g, "## ").replaceAll("\n", "\n  | ");
}
