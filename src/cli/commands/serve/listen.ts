import { openMetrics } from "../../../app/adapters/metrics.ts";
import { type Link, openListener } from "../../../app/listen/listener.ts";
import { readSetting, type Setting } from "../../../app/listen/setting.ts";
import { askRun } from "../../../app/runs/afterwards/ask.ts";
import type { PreparedRun } from "../../../app/runs/prepare.ts";
import { SkillflowError } from "../../../core/base/errors.ts";
import { plainLine } from "../../../core/base/inert.ts";
import { MIN_LENGTH } from "../../../core/base/redact/secret-forms.ts";
import type { RunRecord } from "../../../core/engine/event/record.ts";
import { signalCommands } from "../../../core/engine/result/commands.ts";
import { openWebhooks, type WebhookTold } from "../../../protocol/webhooks/server.ts";
import { approvalPage, toldPage } from "../../../reports/site/approval.ts";
import { text } from "../../flags.ts";
import type { Action, Flags, Io } from "../../io.ts";
import { GRACE_MS, openServing, portOf } from "../../serving.ts";
import { amount, describeFailure, jsonText, painter, programName } from "../../terminal/terminal.ts";
import { skillLogger } from "../run/run.ts";
import { describeEnd, watchOf } from "./worker.ts";

const USUAL_FILE = "listen.yml";
const USUAL_PORT = 8080;

/** Starts runs from webhooks until it is stopped, then waits for the running ones. */
export const listen: Action = async (io, _args, flags) => {
  const { workspace, teller, stopped } = openServing(io, flags, undefined);
  const setting = readSetting(workspace, text(flags, "config") ?? USUAL_FILE, flags);
  const { file } = setting;
  for (const { name, secret, said } of setting.sources.values())
    if (secret.length < MIN_LENGTH)
      teller.warn(`${said.secret} has fewer than ${MIN_LENGTH} characters: a secret of ${name} that can be guessed`);
  const watched = flags.verbose === true ? flags : { ...flags, quiet: true };
  const host = text(flags, "host") ?? file.host ?? "127.0.0.1";
  const port = portOf(flags, String(file.port ?? USUAL_PORT));
  const queued = async () => (await workspace.intake?.waiting()) ?? 0;
  const metrics = await openMetrics(setting.workspace, flags, queued);
  let address = "";
  const listener = openListener(setting, {
    choices: flags,
    watch: (prepared) => ({
      ...watchOf(io, watched, { ...prepared, also: metrics.start(prepared) }),
      tellsContent: flags.otlpContent === true,
    }),
    ask(run, question, observer) {
      const { signal } = new AbortController();
      const watch = (prepared: PreparedRun) => watchOf(io, watched, { ...prepared, also: observer });
      return askRun(setting.workspace, run, question, { choices: flags, connect: { signal }, watch });
    },
    loggerFor: (skill) => skillLogger(io, watched, skill),
    onSlackFault: teller.onFault,
    onEnd(finished) {
      metrics.end(finished.record.run, finished);
      if (flags.quiet !== true) void io.err(describeEnd(io, flags, finished));
    },
    onLink: (link, record) => void io.err(describeLink(io, { link, record }, `${file.approvals?.url ?? address}`)),
    onGivenUp(run, error) {
      metrics.end(run, undefined);
      // Another process is driving the run.
      if (error instanceof SkillflowError && error.code === "store.locked") return;
      void io.err(`${plainLine(run)} resumes at the next start\n${describeFailure(error, flags, io)}`);
    },
  });
  const release = workspace.intake?.claim?.();
  const server = await openWebhooks(setting, listener, {
    host,
    port,
    pages: {
      ask: ({ link, stored }) => approvalPage({ ...link, stored }),
      tell: toldPage,
    },
    metrics: {
      ...metrics,
      host,
      token: file.metrics && workspace.host.env[file.metrics.token],
    },
    onEvent: (event) => void (flags.quiet === true ? undefined : io.err(describeEvent(io, flags, event))),
    onFault: teller.onFault,
  });
  address = server.url;
  const stop = new AbortController();
  void stopped.then(() => {
    server.drain();
    teller.note("stopping: accepts no more webhooks, and exits when the current runs end");
    stop.abort();
  });
  try {
    await listener.work(stop.signal, () => void tellAddress(io, flags, server.url, setting));
  } finally {
    await server.close(GRACE_MS);
    release?.();
  }
  return 0;
};

async function tellAddress(io: Io, flags: Flags, url: string, setting: Setting): Promise<void> {
  const sources = [...setting.sources.keys()];
  await io.out(flags.json === true ? jsonText({ url, sources }) : `listening on ${url}\n`);
  if (flags.quiet === true) return;
  const lines = [...setting.sources.values()].map(({ name, said, document }) => {
    return `  POST /${name} (${said.kind}) starts ${plainLine(document)}\n`;
  });
  const mentions = [...(setting.slack?.channels ?? [])].map(([id, { document, approvers }]) => {
    const may = approvers.length === 0 ? "no user may approve: list approvers" : `may approve: ${approvers.join(", ")}`;
    return `  POST /slack/events (${id}) starts ${plainLine(document)}; ${plainLine(may)}\n`;
  });
  const clicks = setting.slack ? ["  POST /slack/interactions takes the clicks on buttons\n"] : [];
  const count = amount(lines.length + (setting.slack ? 1 : 0), "source");
  await io.err(`accepts ${count} (Ctrl-C stops)\n${[...lines, ...mentions, ...clicks].join("")}`);
}

function describeEvent(io: Io, flags: Flags, { source, status, text: told }: WebhookTold): string {
  const paint = painter(io, flags);
  const mark = status < 300 ? paint("green", "●") : paint("yellow", "!");
  return `${mark} ${source} ${status} ${plainLine(told)}\n`;
}

/** Describes an approval link. The token is not printed anywhere else. */
function describeLink(
  io: Io,
  { link: { run, waiting, by, token }, record }: { readonly link: Link; readonly record: RunRecord },
  address: string,
): string {
  const { approve } = signalCommands({ record }, waiting);
  const until = waiting.until === undefined ? "" : ` until ${waiting.until}`;
  const link = `${address.replace(/\/$/, "")}/approve/${token}`;
  return `◆ ${plainLine(run)} waits at ${plainLine(waiting.node)}${until}: ${plainLine(waiting.ask)}
  ${plainLine(by)}: ${link}
  or: ${programName(io)} ${plainLine(approve)}\n`;
}
