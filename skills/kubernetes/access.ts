import type { ToolContext } from "skillflow";
import * as z from "zod";
import { text } from "./fields.ts";
import { listOf, pathOf, withKubernetes } from "./service.ts";

/** Checks that pods can be listed, which most tools need. */
export async function describeAccess(context: ToolContext): Promise<string> {
  const told = await withKubernetes(context, async (ask, { namespace }) => {
    const needs = `permission to list pods in ${namespace}`;
    const answer = listOf(z.object({ metadata: z.object({ name: text }) }));
    await ask({ path: pathOf("v1", namespace, "pods"), query: { limit: 1 }, needs, answer });
    return `can list pods in the namespace ${namespace}`;
  });
  return String(told);
}
