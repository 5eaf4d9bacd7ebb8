import * as z from "zod";
import type { Fitting } from "../base/values.ts";
import { flag, lazyStrictObject, optional, text, writesMode } from "../skill/field.ts";
import { matchesPattern } from "../skill/glob.ts";
import type { McpServerConfig } from "../skill/skill.ts";
import { instanceOf } from "../skill/skill-reference.ts";
import type { InnerWorkflows } from "./inner/place.ts";
import { type ModelChoice, modelsOf } from "./model-list.ts";
import { asksModel, firstOf, isOffline, type OwnPrefixes, parseModel } from "./model-name.ts";
import { workflowLimitsSchema } from "./workflow/limits.ts";
import type { Workflow } from "./workflow/workflow.ts";

const allowed = (description: string) =>
  optional(z.strictObject({ allow: z.array(text()).describe("Patterns, in which * matches anything") }), description);

/** Schema of a policy: upper bounds that nothing else can loosen. */
export const policySchema = lazyStrictObject(() => ({
  writes: optional(writesMode(), "The most that writes may do, as in --writes"),
  models: optional(
    z.array(text()),
    "Models that may be asked, as patterns of PROVIDER:NAME in which * matches anything",
  ),
  limits: optional(workflowLimitsSchema(), "Upper bounds of each run's limits"),
  skills: allowed("Skills that may be used, by id. The id of a skill includes its instances."),
  mcp_servers: allowed("MCP servers that may be connected, by the id of their skill or by URL"),
  require_frozen: optional(flag(), "true: as if --frozen were always given"),
}));
export type Policy = Fitting<typeof policySchema>;

export interface LoadedPolicy {
  readonly path: string;
  readonly policy: Policy;
}

export function forbidsModel(policies: readonly LoadedPolicy[], name: string): LoadedPolicy | undefined {
  return policies.find(({ policy: { models } }) => models !== undefined && !fits(models, [name]));
}

interface NamedSkill {
  readonly id: string;
  readonly server: McpServerConfig | undefined;
  /** True if the skill has nothing but its server. */
  readonly isServer: boolean;
}

export function forbidsSkill(
  policies: readonly LoadedPolicy[],
  { id, server, isServer }: NamedSkill,
): LoadedPolicy | undefined {
  const base = instanceOf(id)?.skill;
  const ids = base === undefined ? [id] : [id, base];
  return policies.find(({ policy: { skills, mcp_servers: servers } }) => {
    const isAllowedServer =
      servers !== undefined && (fits(servers.allow, ids) || servers.allow.some((each) => fitsUrl(each, server?.url)));
    const isForbidden = skills !== undefined && !fits(skills.allow, ids) && !(isServer && isAllowedServer);
    return isForbidden || (server !== undefined && servers !== undefined && !isAllowedServer);
  });
}

function fits(patterns: readonly string[], names: readonly string[]): boolean {
  return patterns.some((pattern) => names.some((name) => matchesPattern(pattern, name)));
}

/** Matches a URL. What `*` stands for in the host of a pattern is in the host: `https://*.a.com/*` is not `https://b.com/.a.com/`. */
function fitsUrl(pattern: string, url = ""): boolean {
  const [host = "*"] = /^(?:[a-z*]+:\/\/)?[^/]*/i.exec(pattern) ?? [];
  const [named = ""] = /^[a-z]+:\/\/[^/?#\\]*/i.exec(url) ?? [];
  return url !== "" && !MOVED.test(url) && matchesPattern(pattern, url) && matchesPattern(host, named);
}

/** Matches a URL whose path leads elsewhere than its text: `..` and its escapes, and characters that a parser drops or replaces. */
const MOVED = /^[^?#]*?(?:[\\\p{Cc}]|\/(?:\.|%2e){1,2}(?=[/?#]|$))/iu;

interface Asked {
  readonly model: ModelChoice;
  readonly judge_model: ModelChoice;
}

interface Asking {
  readonly workflow: Workflow;
  readonly inner?: InnerWorkflows | undefined;
  /** Path of the workflow in `inner`. Undefined for the outermost one. */
  readonly at?: string | undefined;
}

/** Returns the models that a workflow asks, each with its provider. */
export function modelsAsked({ model, judge_model }: Asked, asking: Asking, own?: OwnPrefixes): readonly string[] {
  const { workflow, inner, at } = asking;
  if (isOffline(model)) return modelsOf(model);
  if (!asksModel(workflow, inner, at)) return [];
  const nodes = Object.values(workflow.nodes);
  const judges = nodes.flatMap((node) =>
    (node.eval ?? []).flatMap((each) =>
      each.kind === "judge" ? [each.model ?? node.judge_model ?? workflow.judge_model ?? judge_model] : [],
    ),
  );
  const { provider: usual } = parseModel(firstOf(model), own);
  const names = [...nodes.map((node) => node.model ?? workflow.model ?? model), ...judges];
  return [...new Set(names.flat())].map((text) => fullName(text, usual, own));
}

/** Writes a model's name with its provider, by default the run's. */
export function fullName(text: string, usual: string | undefined, own?: OwnPrefixes): string {
  const { provider = usual, name } = parseModel(text, own);
  return provider === undefined ? name : `${provider}:${name}`;
}
