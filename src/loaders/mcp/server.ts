import { refusalOf, SkillflowError } from "../../core/base/errors.ts";
import type { ToolContext } from "../../core/skill/skill.ts";
import { isUntouched } from "./offer/results.ts";
import type { Session } from "./session.ts";

/** Returns the open session. Reconnects if the last one was lost. */
export type Server = () => Promise<Session>;

interface Asking<Value> {
  readonly context: Pick<ToolContext, "signal">;
  /** True if the request changes nothing and can be repeated. */
  readonly isReading: boolean;
  /** Sends the request. Calls `onAsked` right before the server may start to process it. */
  ask(session: Session, onAsked: () => void): Promise<Value>;
}

/** Sends a request. Repeats it once if the connection was lost and the first attempt cannot have had effects. */
export async function reach<Value>(server: Server, asking: Asking<Value>, mayRepeat = true): Promise<Value> {
  const session = await server();
  let isAsked = false;
  const onAsked = () => {
    isAsked = true;
  };
  try {
    return await asking.ask(session, onAsked);
  } catch (error) {
    asking.context.signal.throwIfAborted();
    const loss = session.lossBy(error);
    // The status of an HTTP response counts, but not a code that the server chose for its own error.
    const isUnreached = loss !== undefined && isUntouched(error);
    const isUndone = !isAsked || isUnreached || refusalOf(error) !== undefined;
    if (loss === undefined) throw failed(session, error, isUndone || session.isRefusal(error));
    await session.close();
    const isHarmless = asking.isReading || isUndone;
    if (isHarmless && mayRepeat) return reach(server, asking, false);
    throw lost(loss, isHarmless);
  }
}

function failed(session: Session, error: unknown, isUndone: boolean): SkillflowError {
  if (error instanceof SkillflowError) return error;
  return new SkillflowError("server.failed", session.explain(error), { acted: isUndone ? "no" : "unknown" });
}

function lost(loss: string, isHarmless: boolean): SkillflowError {
  if (isHarmless) return new SkillflowError("server.failed", `the MCP server was lost: ${loss}`, { acted: "no" });
  const what = `in doubt: the MCP server was lost during this call, so it may have been carried out (${loss})`;
  return new SkillflowError("call.in_doubt", `${what}. It was not repeated. Check before you do it again.`);
}
