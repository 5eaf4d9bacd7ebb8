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

/** Settings and bounds of runs, within the policies of the machine. */

export function boundsFor(workspace: Workspace, choices: BoundChoices, documents: readonly Declared[]): Bounds {
  const { env, policies = [] } = workspace.host;
  return clampBounds(chooseBounds(choices, env, [...documents, ...configFiles(workspace)]), policies).clamped;
}

/** Returns the settings of a new run, whose policies must allow the models of `asking`. The notes describe what policies changed. */
export function settingsOf(
  workspace: Workspace,
  workflow: Workflow,
  choices: RunChoices,
  asking: readonly Workflow[] = [],
) {
  const { contextMode } = workspace.choices;
  const { policies = [] } = workspace.host;
  const refuse = (asked: ModelSettings) => refuseModels(workspace, asked, asking);
  const said = { ...modelAccess(workspace), files: configFiles(workspace), refuse };
  const { clamped: settings, notes } = clampBounds(
    chooseSettings({ ...choices, contextMode }, workflow, said),
    policies,
  );
  return { settings, notes };
}

export function refuseModels(workspace: Workspace, settings: ModelSettings, workflows: readonly Workflow[]): void {
  const own = ownPrefixes(workspace);
  for (const workflow of workflows)
    for (const name of modelsAsked(settings, workflow, own)) refuseModel(workspace.host, name);
}
