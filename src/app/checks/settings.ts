import type { InnerWorkflows } from "../../core/document/inner/place.ts";
import { modelsAsked } from "../../core/document/policy.ts";
import type { Workflow } from "../../core/document/workflow/workflow.ts";
import {
  type BoundChoices,
  type Bounds,
  chooseBounds,
  clampBounds,
  type Declared,
} from "../../core/engine/settings/bounds.ts";
import { chooseSettings, type ModelSettings, type RunChoices } from "../../core/engine/settings/settings.ts";
import { modelAccess, ownPrefixes, refuseModel } from "../adapters/models.ts";
import type { Workspace } from "../host.ts";
import { configFiles } from "../workspace.ts";

export function boundsFor(workspace: Workspace, choices: BoundChoices, documents: readonly Declared[]): Bounds {
  const { env, policies = [] } = workspace.host;
  return clampBounds(chooseBounds(choices, env, [...documents, ...configFiles(workspace)]), policies).clamped;
}

interface Inside {
  /** Workflow whose models, and those of its inner workflows, the policies must allow. */
  readonly asking?: Workflow | undefined;
  readonly inner?: InnerWorkflows | undefined;
}

/** Returns the settings of a new run. The notes describe what policies changed. */
export function settingsOf(
  workspace: Workspace,
  workflow: Workflow,
  choices: RunChoices,
  { asking, inner }: Inside = {},
) {
  const { contextMode } = workspace.choices;
  const { policies = [] } = workspace.host;
  const refuse = (asked: ModelSettings) => asking && refuseModels(workspace, asked, { workflow: asking, inner });
  const said = { ...modelAccess(workspace), files: configFiles(workspace), inner, refuse };
  const { clamped: settings, notes } = clampBounds(
    chooseSettings({ ...choices, contextMode }, workflow, said),
    policies,
  );
  return { settings, notes };
}

/** Throws if a policy forbids a model that a workflow or one of its inner workflows asks. */
export function refuseModels(
  workspace: Workspace,
  settings: ModelSettings,
  { workflow, inner = new Map() }: { readonly workflow: Workflow; readonly inner?: InnerWorkflows | undefined },
): void {
  const own = ownPrefixes(workspace);
  const inside = [...inner].map(([at, each]) => ({ workflow: each.workflow, inner, at }));
  for (const asking of [{ workflow, inner }, ...inside])
    for (const name of modelsAsked(settings, asking, own)) refuseModel(workspace.host, name);
}
