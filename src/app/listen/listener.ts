import { usageError } from "../../core/base/errors.ts";
import type { RunChoices } from "../../core/engine/settings/settings.ts";
import type { FinishedRun, Watch } from "../runs/drive.ts";
import type { PreparedRun } from "../runs/prepare.ts";
import { takeRun } from "../runs/queued.ts";
import { type Delivery, openAcceptance, type Taken } from "./acceptance.ts";
import { openDay } from "./day.ts";
import { type Link, type Links, openLinks } from "./links.ts";
import type { Setting } from "./setting.ts";

export type { Delivery, Link, Links, Taken };

export interface ListenerOptions {
  readonly choices: RunChoices;
  readonly watch: (prepared: PreparedRun) => Watch;
  readonly onEnd: (finished: FinishedRun) => void;
  readonly onLink: (link: Link) => void;
  /** Called if a run cannot be executed. It stays accepted. */
  readonly onGivenUp: (run: string, error: unknown) => void;
}

export interface Listener {
  take(delivery: Delivery): Promise<Taken>;
  readonly links: Pick<Links, "find" | "decide">;
  /** Executes accepted runs until `stop` is aborted. Resolves once all active runs have ended. */
  work(stop: AbortSignal, onReady: () => void): Promise<void>;
}

const USUAL_CONCURRENCY = 4;

/** Opens a listener, which accepts webhooks and executes the runs that they start. */
export function openListener(setting: Setting, options: ListenerOptions): Listener {
  const { workspace, file } = setting;
  const { intake, store } = workspace;
  if (!intake) throw usageError("this store does not accept queued runs");
  const { choices, watch, onEnd, onLink, onGivenUp } = options;
  const day = openDay(workspace.state, file);
  const links = openLinks(workspace, intake, file);
  const connect = { signal: new AbortController().signal };

  const drive = async (run: string, stop: AbortSignal) => {
    const { events } = await store.read(run);
    if (events.length === 0 && !(await day.affords(stop))) return intake.requeue(run);
    const finished = await takeRun(workspace, run, { choices, connect, watch });
    const stored = await store.read(run);
    await day.spend(run, stored.events);
    if (finished) onEnd(finished);
    for (const link of await links.issue(stored)) onLink(link);
  };

  return {
    take: openAcceptance(setting, { day, intake, choices }),
    links,
    async work(stop, onReady) {
      const concurrency = file.limits?.concurrency ?? USUAL_CONCURRENCY;
      const told = async (run: string) => {
        try {
          await drive(run, stop);
        } catch (error) {
          onGivenUp(run, error);
          throw error;
        }
      };
      try {
        await links.restore();
        await intake.work({ concurrency, drive: told }, stop, onReady);
      } finally {
        links.close();
      }
    },
  };
}
