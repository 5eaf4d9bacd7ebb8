import { dirname, isAbsolute, relative, resolve } from "node:path";
import { type Diagnostic, hasErrors } from "../../core/base/diagnostic.ts";
import { SkillflowError } from "../../core/base/errors.ts";
import type { Hint } from "../../core/base/options.ts";
import { defined } from "../../core/base/values.ts";
import { checkFields } from "../../core/document/listen/check.ts";
import type { ListenFile, ListenSource } from "../../core/document/listen/listen-file.ts";
import type { Workflow } from "../../core/document/workflow/workflow.ts";
import type { RunChoices } from "../../core/engine/settings/settings.ts";
import { loadListenFile } from "../../loaders/documents/listen-file.ts";
import { readWorkflow } from "../documents.ts";
import { documentsOf, type Workspace } from "../host.ts";
import { settingsOf } from "../runs/prepare.ts";

export interface Setting {
  readonly workspace: Workspace;
  readonly file: ListenFile;
  readonly sources: ReadonlyMap<string, Source>;
}

export interface Source {
  readonly name: string;
  readonly said: ListenSource;
  /** Secret that authenticates the source's requests. */
  readonly secret: string;
  /** Path of the workflow's file, as the workspace names it. */
  readonly document: string;
}

/** Reads the file, its workflows and its variables. Throws one error with all findings. */
export function readSetting(opened: Workspace, given: string, choices: RunChoices): Setting {
  const folder = documentsOf(opened.host);
  const path = resolve(folder, given);
  const loaded = loadListenFile(path, given);
  const { file } = loaded;
  if (!file) throw wrong(given, loaded.diagnostics);
  const workspace = { ...opened, nearest: { ...defined("model", file.model), ...defined("writes", file.writes) } };
  const documentOf = ({ workflow }: ListenSource) => shown(folder, resolve(dirname(path), workflow));
  const sources = Object.entries(file.sources);
  const workflows = readWorkflows(workspace, new Set(sources.map(([, source]) => documentOf(source))));
  const unset = new Set(sources.flatMap(([, { secret }]) => (workspace.host.env[secret] ? [] : [secret])));
  const found = sources.flatMap(([name, source]) => {
    const read = workflows.get(documentOf(source));
    const missing = unset.has(source.secret) ? [noVariable(name, source)] : [];
    const lost = (read?.diagnostics ?? []).filter(isLost);
    return [
      ...lost.map((one) => ({ ...one, file: given, path: ["sources", name, "workflow"] })),
      ...(read?.workflow ? checkFields(source, read.workflow, name) : []),
      ...missing,
    ];
  });
  const inWorkflows = [...workflows.values()].flatMap(({ diagnostics }) => diagnostics.filter((one) => !isLost(one)));
  const wrongs = [
    ...loaded.diagnostics,
    ...loaded.place(found),
    ...inWorkflows.filter(({ severity }) => severity === "error"),
  ];
  if (hasErrors(wrongs)) throw wrong(given, wrongs, unset);
  for (const { workflow } of workflows.values()) if (workflow) settingsOf(workspace, workflow, choices);
  return { workspace, file, sources: new Map(sources.map(([name, said]) => [name, sourceOf(name, said)])) };

  function sourceOf(name: string, said: ListenSource): Source {
    return { name, said, secret: workspace.host.env[said.secret] ?? "", document: documentOf(said) };
  }
}

function readWorkflows(workspace: Workspace, documents: ReadonlySet<string>) {
  return new Map<string, { workflow: Workflow | undefined; diagnostics: readonly Diagnostic[] }>(
    [...documents].map((document) => [document, readWorkflow(workspace, document)]),
  );
}

/** Checks whether the workflow file is missing or unreadable, which is a mistake in the file that names it. */
function isLost({ code, line }: Diagnostic): boolean {
  return code === "IO" && line === undefined;
}

/** Returns a path relative to the folder, or unchanged if it is outside. */
function shown(folder: string, path: string): string {
  const near = relative(folder, path);
  return near.startsWith("..") || isAbsolute(near) ? path : near;
}

function noVariable(name: string, { secret }: ListenSource): Diagnostic {
  const message = `${secret} is not set: it authenticates webhooks from ${name}`;
  return { severity: "error", code: "VARIABLE_MISSING", path: ["sources", name, "secret"], message };
}

/** Creates the error. If only variables are missing, the environment is at fault, not the file. */
function wrong(
  given: string,
  diagnostics: readonly Diagnostic[],
  unset: ReadonlySet<string> = new Set(),
): SkillflowError {
  const isUnset = diagnostics.every(({ severity, code }) => severity !== "error" || code === "VARIABLE_MISSING");
  if (!isUnset) return new SkillflowError("config.invalid", `${given} cannot be used`, { diagnostics });
  const hint: Hint = [
    "set it in the environment, or pass a file that contains it: ",
    { option: "env-from", value: ".env" },
  ];
  return new SkillflowError("config.missing", `${given} needs variables that are not set: ${[...unset].join(", ")}`, {
    diagnostics,
    hint,
  });
}
