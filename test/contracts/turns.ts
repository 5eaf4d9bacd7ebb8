import { describe, expect, it } from "vitest";
import type { Rate, Turns } from "../../src/core/engine/ports.ts";

/** The contract of every keeper of turns. */
export function describeTurns(name: string, open: () => Turns): void {
  let nr = 0;
  const atOnce = (most: number): Rate => ({ name: `${name} ${++nr}`, most, perMs: undefined });
  const timed = (most: number, perMs: number): Rate => ({ name: `${name} ${++nr}`, most, perMs });
  const forever = new AbortController().signal;
  const ask = (turns: Turns, rate: Rate, signal = forever) => {
    let heard: () => void = () => undefined;
    const waits = new Promise<void>((resolve) => {
      heard = resolve;
    });
    return { turn: turns.take(rate, signal, heard), waits };
  };

  describe(name, () => {
    it("allows the maximum number of concurrent turns, and the next in the order of requests once one is returned", async () => {
      const turns = open();
      const rate = atOnce(2);
      const [first] = [await turns.take(rate, forever, fail), await turns.take(rate, forever, fail)];
      const begun: number[] = [];
      const asked: Promise<void>[] = [];
      for (const nr of [3, 4]) {
        const { turn, waits } = ask(turns, rate);
        await waits;
        asked.push(
          turn.then((giveBack) => {
            begun.push(nr);
            giveBack();
          }),
        );
      }
      expect(begun).toEqual([]);
      first?.();
      await Promise.all(asked);
      expect(begun).toEqual([3, 4]);
    });

    it("allows a maximum of starts per period, and counts finished ones", async () => {
      const turns = open();
      const rate = timed(3, 300);
      const times: number[] = [];
      await Promise.all(
        Array.from({ length: 7 }, async () => {
          (await turns.take(rate, forever, () => undefined))();
          times.push(performance.now());
        }),
      );
      expect((times[6] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(500);
    });

    it("rejects a request that is aborted, with its reason, and holds no place for it", async () => {
      const turns = open();
      const rate = atOnce(1);
      const giveBack = await turns.take(rate, forever, fail);
      const stop = new AbortController();
      const { turn, waits } = ask(turns, rate, stop.signal);
      await waits;
      const next = ask(turns, rate);
      stop.abort(new Error("enough"));
      await expect(turn).rejects.toThrow("enough");
      giveBack();
      (await next.turn)();
      await expect(turns.take(rate, AbortSignal.abort(new Error("too late")), fail)).rejects.toThrow("too late");
      (await turns.take(rate, forever, () => undefined))();
    });
  });
}

function fail(): never {
  throw new Error("no request had to wait");
}
