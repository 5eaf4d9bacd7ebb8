import { constants } from "node:fs";
import { type FileHandle, lstat, open, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { NothingDone, resolveInside, type ToolContext } from "skillflow";
import { type Channel, setting } from "../channel.ts";
import { bodyText, heading } from "../notice.ts";

/** Appends one JSON object per line to a file. */
export const fileChannel: Channel = {
  needs: ["NOTIFICATION_FILE"],
  open: async (context) => {
    const path = await placeOf(context);
    return async (notice) => {
      const line = { at: new Date().toISOString(), call: context.callId, ...notice };
      await append(path, `${JSON.stringify(line)}\n`, context);
      return {};
    };
  },
};

/** Returns the file's path, which must be inside the working directory after following links. */
async function placeOf(context: ToolContext): Promise<string> {
  const path = setting(context, "NOTIFICATION_FILE");
  const place = await resolveInside(context.workDir, path);
  if (place.inside) return place.path;
  if (place.reason !== "missing") throw new NothingDone(`NOTIFICATION_FILE ${place.message}.`);
  const folder = await resolveInside(context.workDir, dirname(path));
  if (folder.inside) return join(folder.path, basename(path));
  const what = folder.reason === "missing" ? "is in a folder that does not exist: create it" : folder.message;
  throw new NothingDone(`NOTIFICATION_FILE ${what}.`);
}

async function append(path: string, line: string, { workDir }: ToolContext): Promise<void> {
  const file = await openForAppend(path);
  try {
    await lookAgain(file, path, workDir);
    await file.appendFile(line, "utf8");
  } finally {
    await file.close();
  }
}

async function openForAppend(path: string): Promise<FileHandle> {
  // O_NOFOLLOW refuses a dangling link. Without O_NONBLOCK, opening a named pipe would wait for its reader.
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;
  const careful = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  try {
    return await open(path, flags | careful, 0o600);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    throw new NothingDone(`Cannot write NOTIFICATION_FILE (${code}). Give a file that this user can append to.`);
  }
}

/** Checks that the open file is a regular file and still inside the working directory. */
async function lookAgain(file: FileHandle, path: string, workDir: string): Promise<void> {
  const opened = await file.stat();
  if (!opened.isFile()) throw new NothingDone("NOTIFICATION_FILE is not a regular file.");
  const place = await resolveInside(workDir, await realpath(path));
  const now = await lstat(path);
  if (place.inside && now.ino === opened.ino && now.dev === opened.dev) return;
  throw new NothingDone("NOTIFICATION_FILE was replaced while it was being opened.");
}

export const consoleChannel: Channel = {
  needs: [],
  open:
    ({ logger }) =>
    async (notice) => {
      logger.info(consoleText(`Notification: ${heading(notice)}\n${bodyText(notice)}`));
      return {};
    },
};

/** Disables CI commands in logs: `::set-output` at the start of a line, `##[command]` anywhere. */
function consoleText(text: string): string {
  return text.replace(/##(?=\[)/g, "## ").replaceAll("\n", "\n  | ");
}
