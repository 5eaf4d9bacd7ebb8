import type { RunEvent } from "../event/event.ts";
import type { RunRecord } from "../event/record.ts";
import { recordedSettings } from "../settings/settings.ts";
import type { RunResult } from "./result.ts";
import { type Continued, withOptions } from "./signal-command.ts";

/** Returns the command that resumes a run, with its original options and a higher limit if one stopped it. */
export function resumeCommand(run: Told): string {
  return withOptions(resumption(run), run);
}

function resumption({ record, events, result }: Told): string {
  const command = `resume ${record.run}`;
  const {
    max_cost_usd = 0,
    max_tokens = 0,
    max_steps = 0,
    timeout_ms = 0,
  } = recordedSettings(record.settings, events).limits;
  const { inputTokens, outputTokens, costUsd } = result.usage;
  switch (result.status === "stopped" ? events.findLast((event) => event.type === "limit:reached")?.limit : undefined) {
    case "max_steps":
      return `${command} --max-steps ${max_steps * 2}`;
    case "max_tokens":
      return `${command} --max-tokens ${raised(max_tokens, inputTokens + outputTokens)}`;
    case "max_cost_usd":
      return `${command} --max-cost ${raised(max_cost_usd, costUsd ?? 0)}`;
    case "timeout":
      return `${command} --timeout ${timeout_ms % 500 === 0 ? `${timeout_ms / 500}s` : `${timeout_ms * 2}ms`}`;
    default:
      return command;
  }
}

interface Told extends Continued {
  readonly record: RunRecord;
  readonly events: readonly RunEvent[];
  readonly result: RunResult;
}

/** Raises a limit by its own size, rounded up to two digits. The last call may have far exceeded it. */
function raised(limit: number, used: number): number {
  const wanted = Math.max(limit, used) + limit;
  const unit = 10 ** (Math.floor(Math.log10(wanted)) - 1);
  return Number((Math.ceil(wanted / unit) * unit).toPrecision(2));
}
