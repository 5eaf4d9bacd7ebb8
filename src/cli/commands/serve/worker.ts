import { type Metrics, openMetrics } from "../../../app/adapters/metrics.ts";
import type { FinishedRun } from "../../../app/runs/drive.ts";
import type { PreparedRun } from "../../../app/runs/prepare.ts";
import { takeRun } from "../../../app/runs/queued.ts";
import { SkillflowError, usageError } from "../../../core/base/errors.ts";
import { plainLine } from "../../../core/base/inert.ts";
import type { Observer } from "../../../core/engine/ports.ts";
import { openHttpServer } from "../../../protocol/http-server.ts";
import { answerMetrics } from "../../../protocol/metrics.ts";
import { accountOf } from "../../../reports/model/account.ts";
import { number } from "../../flags.ts";
import type { Action, Flags, Io } from "../../io.ts";
import { openServing } from "../../serving.ts";
import { plainProgress } from "../../terminal/progress/plain.ts";
import { amount, describeFailure, duration, painter } from "../../terminal/terminal.ts";
import { statusMark } from "../../terminal/verdict.ts";
import { skillLogger } from "../run/run.ts";

const USUAL_CONCURRENCY = 4;

/** Drives queued runs, each as `run` would, until it is stopped. */
export const worker: Action = async (io, _args, flags) => {
  const concurrency = number(flags, "concurrency") ?? USUAL_CONCURRENCY;
  const { workspace, teller, stopped } = openServing(io, { ...flags, engine: "dbos" }, undefined);
  const { queue } = workspace;
  if (!queue) throw new Error("the engine has no queue");
  const stop = new AbortController();
  void stopped.then(() => {
    teller.note("stopping: takes no more runs, and exits when the current runs end");
    stop.abort();
  });
  const metrics = await openMetrics(workspace, flags, async () => (await queue.examine()).queued);
  const server = await serveMetrics(io, flags, metrics);
  const connect = { signal: new AbortController().signal };
  const drive = async (run: string) => {
    try {
      const watch = (prepared: PreparedRun) => watchOf(io, flags, { ...prepared, also: metrics.start(prepared) });
      const finished = await takeRun(workspace, run, { choices: flags, connect, watch });
      metrics.end(run, finished);
      if (finished && flags.quiet !== true) await io.err(describeEnd(io, flags, finished));
    } catch (error) {
      metrics.end(run, undefined);
      // Another process is driving the run.
      if (error instanceof SkillflowError && error.code === "store.locked") return;
      await io.err(`${plainLine(run)} could not be driven\n${describeFailure(error, flags, io)}`);
    }
  };
  const ready = `ready: ${amount(concurrency, "run")} at a time\n`;
  try {
    await queue.work({ concurrency, drive }, stop.signal, () => void io.err(ready));
  } finally {
    await server?.close(0);
  }
  return 0;
};

async function serveMetrics(io: Io, flags: Flags, metrics: Metrics) {
  const port = number(flags, "metricsPort");
  if (port === undefined) return undefined;
  if (port > 65_535) throw usageError(`--metrics-port takes a number up to 65535, not ${port}`);
  const host = "127.0.0.1";
  const handler = (request: Request) => answerMetrics(request, { ...metrics, host });
  const server = await openHttpServer({ host, port, mostBytes: 0, handlers: new Map([["/metrics", handler]]) });
  await io.err(`metrics on ${server.url}/metrics\n`);
  return server;
}

/** Prints one line per event, prefixed with the run's id. */
export function watchOf(io: Io, flags: Flags, { record, warnings, redactor, also }: PreparedRun & { also: Observer }) {
  const say = (line: string) => void io.err(redactor.text(`${plainLine(record.run)} ${line}`));
  for (const warning of warnings) say(`${plainLine(warning)}\n`);
  const progress: Observer = flags.quiet === true ? { onEvent: () => undefined } : plainProgress(say);
  const warner: Observer = {
    onEvent: () => undefined,
    onWarning: ({ message }) => say(`! ${plainLine(message)}\n`),
  };
  return {
    observers: [progress, warner, also],
    // Never aborts: a worker that is stopping lets its runs finish.
    signal: new AbortController().signal,
    loggerFor: (skill: string) => skillLogger(io, flags, skill),
  };
}

export function describeEnd(io: Io, flags: Flags, { record, events, result }: FinishedRun): string {
  const { state, standing } = accountOf({ record, events, result });
  const mark = statusMark(state, painter(io, flags));
  const more = standing === result.status ? "" : ` ${standing}`;
  return `${plainLine(record.run)} ${mark}${more} in ${duration(result.usage.durationMs)}\n`;
}
