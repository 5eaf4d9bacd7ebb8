import type { ToolContext } from "skillflow";
import * as z from "zod";
import { text } from "./fields.ts";
import { withGitLab } from "./service.ts";

/** Describes the token's user and access to the configured project. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const told = await withGitLab(context, async (ask) => {
    const { username } = await ask({
      path: ["user"],
      needs: "the read_api scope",
      answer: z.object({ username: z.string() }),
    });
    const own = context.config["GITLAB_PROJECT"]?.trim();
    if (!own) return `signed in as ${username}`;
    const seen = await ask({
      path: ["projects", own],
      needs: "the read_api scope",
      instead: "Check GITLAB_PROJECT, and that the token may see it.",
      answer: z.object({ path_with_namespace: z.string(), visibility: text }),
    });
    return `signed in as ${username}; sees ${seen.path_with_namespace} (${seen.visibility ?? "unknown visibility"})`;
  });
  return String(told);
}
