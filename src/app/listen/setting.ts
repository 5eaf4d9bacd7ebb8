import { dirname, resolve } from "node:path";
import { type Diagnostic, hasErrors } from "../../core/base/diagnostic.ts";
import { SkillflowError } from "../../core/base/errors.ts";
import type { Hint } from "../../core/base/options.ts";
import { defined } from "../../core/base/values.ts";
import { checkFields, slackFields } from "../../core/document/listen/check.ts";
import type { ListenFile, ListenSource } from "../../core/document/listen/listen-file.ts";
import type { RunChoices } from "../../core/engine/settings/settings.ts";
import { loadListenFile } from "../../loaders/documents/listen-file.ts";
import { settingsOf } from "../checks/settings.ts";
import { readWorkflow } from "../documents.ts";
import { documentsOf, shownPath, type Workspace } from "../host.ts";

export interface Setting {
  readonly workspace: Workspace;
  readonly file: ListenFile;
  readonly sources: ReadonlyMap<string, Source>;
  readonly slack?: SlackSetting;
}

/** Place whose events start runs of one workflow. */
export interface Origin {
  /** Start of the run ids. */
  readonly name: string;
  readonly said: Pick<ListenSource, "fingerprint" | "cool_down">;
  /** Path of the workflow's file, as the workspace names it. */
  readonly document: string;
}

export interface Source extends Origin {
  readonly said: ListenSource;
  readonly secret: string;
}

export interface SlackSetting {
  readonly secret: string;
  readonly channels: ReadonlyMap<string, SlackChannel>;
}

export interface SlackChannel extends Origin {
  readonly approvers: readonly string[];
  readonly fields: ReturnType<typeof slackFields>;
}

/** Reads the file, its workflows and its variables. Throws one error with all findings. */
export function readSetting(given: Workspace, shownAs: string, choices: RunChoices): Setting {
  const folder = documentsOf(given.host);
  const path = resolve(folder, shownAs);
  const loaded = loadListenFile(path, shownAs);
  const { file } = loaded;
  if (!file) throw wrong(shownAs, loaded.diagnostics);
  const workspace = { ...given, nearest: { ...defined("model", file.model), ...defined("writes", file.writes) } };
  const { env } = workspace.host;
  const documentOf = ({ workflow }: { readonly workflow: string }) =>
    shownPath(given.host, resolve(dirname(path), workflow));
  const sources = Object.entries(file.sources ?? {});
  const channels = Object.entries(file.slack?.channels ?? {});
  const documents = new Set([...sources, ...channels].map(([, said]) => documentOf(said)));
  const workflows = new Map([...documents].map((document) => [document, readWorkflow(workspace, document)]));
  const needed = [
    ...sources.map(([name, { secret }]) => {
      return { name: secret, at: ["sources", name, "secret"], use: `authenticates webhooks from ${name}` };
    }),
    ...(file.metrics
      ? [{ name: file.metrics.token, at: ["metrics", "token"], use: "authenticates requests for metrics" }]
      : []),
    ...(file.slack
      ? [
          { name: SLACK_SECRET, at: ["slack"], use: "authenticates webhooks from Slack" },
          { name: "SLACK_BOT_TOKEN", at: ["slack"], use: "sends messages to Slack" },
        ]
      : []),
  ];
  const missing = needed.filter(({ name }) => !env[name]?.trim());
  const fieldsOf = (said: { readonly workflow: string }) =>
    slackFields(workflows.get(documentOf(said))?.workflow ?? {});
  const starters = [
    ...sources.map(([name, said]) => ({ at: ["sources", name], said })),
    ...channels.map(([id, said]) => {
      const input = Object.fromEntries(fieldsOf(said).map((field) => [field, ""]));
      return { at: ["slack", "channels", id], said: { ...said, input } };
    }),
  ];
  const found = starters.flatMap(({ at, said }) => {
    const read = workflows.get(documentOf(said));
    const lost = (read?.diagnostics ?? []).filter(isLost);
    return [
      ...lost.map((one) => ({ ...one, file: shownAs, path: [...at, "workflow"] })),
      ...(read?.workflow ? checkFields(said, read.workflow, at) : []),
    ];
  });
  const inWorkflows = [...workflows.values()].flatMap(({ diagnostics }) => diagnostics.filter((one) => !isLost(one)));
  const wrongs = [
    ...loaded.diagnostics,
    ...loaded.place([...found, ...missing.map(unset)]),
    ...inWorkflows.filter(({ severity }) => severity === "error"),
  ];
  if (hasErrors(wrongs)) throw wrong(shownAs, wrongs, new Set(missing.map(({ name }) => name)));
  for (const { workflow } of workflows.values())
    if (workflow) settingsOf(workspace, workflow, choices, { asking: workflow });
  const setting = {
    workspace,
    file,
    sources: new Map(
      sources.map(([name, said]): [string, Source] => {
        return [name, { name, said, secret: env[said.secret] ?? "", document: documentOf(said) }];
      }),
    ),
  };
  if (!file.slack) return setting;
  const { approvers: general = [] } = file.slack;
  const opened = channels.map(([id, { approvers = general, ...said }]) => {
    return [id, { name: "slack", said: {}, document: documentOf(said), approvers, fields: fieldsOf(said) }] as const;
  });
  return { ...setting, slack: { secret: env[SLACK_SECRET] ?? "", channels: new Map(opened) } };
}

const SLACK_SECRET = "SLACK_SIGNING_SECRET";

/** Checks whether the workflow file is missing or unreadable, which is a mistake in the file that names it. */
function isLost({ code, line }: Diagnostic): boolean {
  return code === "IO" && line === undefined;
}

function unset({ name, at, use }: { readonly name: string; readonly at: readonly string[]; readonly use: string }) {
  const message = `${name} is not set: it ${use}`;
  return { severity: "error", code: "VARIABLE_MISSING", path: at, message } as const;
}

/** Creates the error. If only variables are missing, the environment is at fault, not the file. */
function wrong(
  given: string,
  diagnostics: readonly Diagnostic[],
  lacking: ReadonlySet<string> = new Set(),
): SkillflowError {
  const isUnset = diagnostics.every(({ severity, code }) => severity !== "error" || code === "VARIABLE_MISSING");
  if (!isUnset) return new SkillflowError("config.invalid", `${given} cannot be used`, { diagnostics });
  const hint: Hint = [
    "set it in the environment, or pass a file that contains it: ",
    { option: "env-from", value: ".env" },
  ];
  return new SkillflowError("config.missing", `${given} needs variables that are not set: ${[...lacking].join(", ")}`, {
    diagnostics,
    hint,
  });
}
