import { spawnSync } from "node:child_process";
import { constants, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

/** Makes a named pipe in this folder, and shows whether any process still has it open for writing. */
export function makeFifo(folder: string) {
  const path = join(folder, "fifo");
  const made = spawnSync("mkfifo", [path]);
  if (made.status !== 0) throw new Error(`mkfifo: ${made.stderr}`);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  // Sleeps, so that the other process gets the processors.
  const turn = () => setTimeout(2);
  /** Returns new text: "" if no process holds the FIFO, undefined if one does and has written nothing. */
  const arrived = (): string | undefined => {
    const bytes = Buffer.alloc(100);
    try {
      return bytes.toString("utf8", 0, readSync(reader, bytes));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EAGAIN") return undefined;
      throw error;
    }
  };
  return {
    arrived,
    /** Resolves with the next text that arrives. */
    next: async (): Promise<string> => {
      for (;;) {
        const text = arrived();
        if (text) return text;
        await turn();
      }
    },
    isHeld: (): boolean => arrived() !== "",
    released: async (): Promise<void> => {
      while (arrived() !== "") await turn();
    },
  };
}
