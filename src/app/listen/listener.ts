import { usageError } from "../../core/base/errors.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import type { RunChoices } from "../../core/engine/settings/settings.ts";
import type { Logger } from "../../core/skill/skill.ts";
import type { FinishedRun, Watch } from "../runs/drive.ts";
import type { PreparedRun } from "../runs/prepare.ts";
import { takeRun } from "../runs/queued.ts";
import { type Delivery, openAcceptance, type Taken } from "./acceptance.ts";
import { openDay } from "./day.ts";
import { type Link, type Links, openLinks } from "./links.ts";
import type { Setting } from "./setting.ts";
import type { AskFinished, SlackEvent } from "./slack/desk.ts";
import { openWorkplace } from "./slack/workplace.ts";

export type { Delivery, Link, Links, SlackEvent, Taken };

export interface ListenerOptions {
  readonly choices: RunChoices;
  readonly watch: (prepared: PreparedRun) => Watch;
  readonly onEnd: (finished: FinishedRun) => void;
  readonly onLink: (link: Link, record: RunRecord) => void;
  /** Called if a run cannot be executed. It stays accepted. */
  readonly onGivenUp: (run: string, error: unknown) => void;
  readonly loggerFor: (skill: string) => Logger;
  /** Called if a message to Slack cannot be sent, or an event of Slack cannot be handled. */
  readonly onSlackFault: (error: unknown) => void;
  /** Asks a finished run. Undefined if this installation cannot. */
  readonly ask?: AskFinished;
}

export type Listener = ReturnType<typeof openListener>;

const USUAL_CONCURRENCY = 4;
/** Events after which the message in Slack may differ. */
const CHANGES_PHASE: ReadonlySet<RunEvent["type"]> = new Set(["workflow:start", "node:enter", "workflow:end"]);

export function openListener(setting: Setting, options: ListenerOptions) {
  const { workspace, file } = setting;
  const { intake, store } = workspace;
  if (!intake) throw usageError("this store does not accept queued runs");
  const { choices, onEnd, onLink, onGivenUp, loggerFor, onSlackFault: onFault, ask } = options;
  const day = openDay(workspace.state, file);
  const links = openLinks(workspace, intake, file);
  const connect = { signal: new AbortController().signal };
  const { take, start } = openAcceptance(setting, { day, intake, choices });
  const slack =
    setting.slack && openWorkplace(setting.slack, { workspace, day, links, start, ask, loggerFor, onFault });
  const watch = (prepared: PreparedRun): Watch => {
    const watched = options.watch(prepared);
    if (!slack) return watched;
    const { run } = prepared.record;
    const onEvent = ({ type }: RunEvent) => (CHANGES_PHASE.has(type) ? slack.touch(run) : undefined);
    return { ...watched, observers: [...watched.observers, { onEvent }] };
  };

  const drive = async (run: string, stop: AbortSignal) => {
    const { events } = await store.read(run);
    if (events.length === 0 && !(await day.affords(stop))) return intake.requeue(run);
    const finished = await takeRun(workspace, run, { choices, connect, watch });
    const stored = await store.read(run);
    await day.spend(run, stored.events);
    if (finished) onEnd(finished);
    for (const link of await links.issue(stored)) onLink(link, stored.record);
  };

  return {
    take,
    links,
    slack,
    /** Executes accepted runs until `stop` is aborted. Resolves once all active runs have ended. */
    async work(stop: AbortSignal, onReady: () => void): Promise<void> {
      const concurrency = file.limits?.concurrency ?? USUAL_CONCURRENCY;
      const told = async (run: string) => {
        try {
          await drive(run, stop);
        } catch (error) {
          onGivenUp(run, error);
          throw error;
        } finally {
          slack?.touch(run);
        }
      };
      try {
        await links.restore();
        const ready = () => {
          onReady();
          slack?.restore().catch(onFault);
        };
        await intake.work({ concurrency, drive: told }, stop, ready);
      } finally {
        await slack?.close();
        links.close();
      }
    },
  };
}
