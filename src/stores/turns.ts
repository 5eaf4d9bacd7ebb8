import type { Rate, Turns } from "../core/engine/ports.ts";

export function memoryTurns(now = () => performance.now()): Turns {
  const lines = new Map<string, Line>();
  return {
    take({ name, ...rate }, signal, onWait) {
      const line = lines.get(name) ?? { begun: [], underWay: 0, waiting: [], timer: undefined };
      lines.set(name, line);
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const giveUp = () => {
          line.waiting = line.waiting.filter((other) => other !== begin);
          reject(signal.reason);
        };
        const begin = () => {
          signal.removeEventListener("abort", giveUp);
          resolve(() => giveBack(line, rate, now));
        };
        line.waiting.push(begin);
        advance(line, rate, now);
        if (!line.waiting.includes(begin)) return undefined;
        onWait();
        return signal.addEventListener("abort", giveUp, { once: true });
      });
    },
  };
}

interface Line {
  /** Start times that still count. Used only for rates with a period. */
  begun: number[];
  underWay: number;
  waiting: (() => void)[];
  timer: NodeJS.Timeout | undefined;
}

type Bound = Omit<Rate, "name">;

function giveBack(line: Line, rate: Bound, now: () => number): void {
  if (rate.perMs !== undefined) return;
  line.underWay -= 1;
  advance(line, rate, now);
}

function advance(line: Line, rate: Bound, now: () => number): void {
  const { most, perMs } = rate;
  const moment = now();
  if (perMs !== undefined) line.begun = line.begun.filter((begun) => begun > moment - perMs);
  while (line.waiting.length > 0 && (perMs === undefined ? line.underWay : line.begun.length) < most) {
    if (perMs === undefined) line.underWay += 1;
    else line.begun.push(moment);
    line.waiting.shift()?.();
  }
  const [first] = line.begun;
  if (perMs === undefined || first === undefined || line.waiting.length === 0 || line.timer) return;
  const again = () => {
    line.timer = undefined;
    advance(line, rate, now);
  };
  line.timer = setTimeout(again, Math.ceil(first + perMs - moment));
}
