import type { Client } from "@modelcontextprotocol/client";
import * as z from "zod";
import { isNestedBeyond, LONGEST_TIMER_MS } from "../../../core/base/values.ts";
import { unlessAborted } from "../../text/bounded.ts";

export type ListName = "tools" | "resources" | "prompts";

/** Entries are not validated here, so that one invalid entry does not invalidate the whole page. */
const pageOf = (list: ListName) => z.looseObject({ [list]: z.array(z.unknown()), nextCursor: z.string().optional() });

export const anyAnswer = z.looseObject({});

/** Maximum number of characters to keep of a list. */
const MOST_LIST = 32 * 1024 * 1024;
/** Size that counts for an entry that is nested too deeply to be measured. */
const DEEP_ENTRY = 1024 * 1024;

/**
 * Reads a list until it ends, a cursor repeats or a limit is reached. May return more entries than `most`. `isCut` is true
 * if more followed.
 */
export async function readPages(
  client: Client,
  list: ListName,
  { most, signal }: { most: number; signal: AbortSignal },
) {
  const listed: unknown[] = [];
  const cursors = new Set<string | undefined>();
  let cursor: string | undefined;
  let size = 0;
  do {
    cursors.add(cursor);
    const params = cursor === undefined ? {} : { cursor };
    const asked = client.request({ method: `${list}/list`, params }, pageOf(list), {
      signal,
      timeout: LONGEST_TIMER_MS,
    });
    const said = await unlessAborted(asked, signal);
    const entries = (said[list] as readonly unknown[]).slice(0, most + 1);
    for (const entry of entries)
      size += isNestedBeyond(MOST_DEPTH, entry) ? DEEP_ENTRY : (JSON.stringify(entry)?.length ?? 0);
    listed.push(...entries);
    cursor = said.nextCursor as string | undefined;
    if (size > MOST_LIST) break;
  } while (cursor !== undefined && !cursors.has(cursor) && listed.length <= most && cursors.size < most);
  return { listed, isCut: cursor !== undefined && listed.length <= most };
}

const MOST_DEPTH = 500;
