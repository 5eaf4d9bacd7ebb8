import type { Client } from "@modelcontextprotocol/client";
import * as z from "zod";
import { isNestedBeyond } from "../../../core/base/values.ts";

/** Lists of a server, which come in pages. */

export type ListName = "tools" | "resources" | "prompts";

/** What is read of a list: `isCut` where it went on. */
export interface Pages {
  readonly listed: readonly unknown[];
  readonly isCut: boolean;
}

/** Each page's entries as they come: a page is refused whole by stricter reading, an unusable entry costs itself. */
const pageOf = (list: ListName) => z.looseObject({ [list]: z.array(z.unknown()), nextCursor: z.string().optional() });

/** An answer of which nothing is known. */
export const anyAnswer = z.looseObject({});

/** Timeouts are the caller's signal's business. */
export const NO_TIMEOUT = 2 ** 31 - 1;

/** What is kept of a list, in characters. */
const MOST_LIST = 32 * 1024 * 1024;
/** What an entry counts for that is too deep to be written. */
const DEEP_ENTRY = 1024 * 1024;

/** One more entry than `most` where the list is longer. A cursor that comes again ends it, and so do pages without an end. */
export async function readPages(client: Client, list: ListName, most: number, signal: AbortSignal): Promise<Pages> {
  const listed: unknown[] = [];
  const cursors = new Set<string | undefined>();
  let cursor: string | undefined;
  let size = 0;
  do {
    cursors.add(cursor);
    const params = cursor === undefined ? {} : { cursor };
    const asked = client.request({ method: `${list}/list`, params }, pageOf(list), { signal, timeout: NO_TIMEOUT });
    const said = await unlessAborted(asked, signal);
    const entries = (said[list] as readonly unknown[]).slice(0, most + 1);
    size += entries.reduce<number>((sum, entry) => sum + sizeOf(entry), 0);
    listed.push(...entries);
    cursor = said.nextCursor as string | undefined;
    if (size > MOST_LIST) break;
  } while (cursor !== undefined && !cursors.has(cursor) && listed.length <= most && cursors.size < most);
  return { listed, isCut: cursor !== undefined && listed.length <= most };
}

function sizeOf(entry: unknown): number {
  return isNestedBeyond(MOST_DEPTH, entry) ? DEEP_ENTRY : (JSON.stringify(entry)?.length ?? 0);
}

const MOST_DEPTH = 500;

export async function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  let stop: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
