import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { watchOutage } from "../../src/stores/dbos/outage.ts";

describe("a database that stops answering", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const open = () => {
    const notes: string[] = [];
    const stops: (() => void)[] = [];
    const outage = watchOutage("host/name", {
      note: (line) => notes.push(line),
      onInterrupt: (stop) => stops.push(stop),
    });
    const begin = () => {
      let finish = () => undefined as unknown;
      const work = new Promise<string>((resolve) => {
        finish = () => resolve("recorded");
      });
      return { work: outage.during(work), finish: () => finish() };
    };
    return { notes, stops, outage, begin };
  };

  it("is reported once, and when it answers again", async () => {
    const { notes, begin } = open();
    const [one, two, quick] = [begin(), begin(), begin()];
    quick.finish();
    expect(await quick.work).toBe("recorded");
    await vi.advanceTimersByTimeAsync(4900);
    expect(notes).toEqual([]);
    await vi.advanceTimersByTimeAsync(5000);
    expect(notes).toEqual(["the database host/name does not answer: waiting"]);
    one.finish();
    two.finish();
    expect(await Promise.all([one.work, two.work])).toEqual(["recorded", "recorded"]);
    expect(notes).toEqual(["the database host/name does not answer: waiting", "the database host/name answers again"]);
  });

  it("ends what waits for it when the process is interrupted, and what follows", async () => {
    const { notes, stops, outage, begin } = open();
    const { work } = begin();
    const refused = expect(work).rejects.toMatchObject({ code: "store.failed" });
    await vi.advanceTimersByTimeAsync(6000);
    expect(stops).toHaveLength(1);
    stops[0]?.();
    await refused;
    await expect(outage.unlessOver(Promise.reject(new Error("later")))).rejects.toThrow("does not answer");
    expect(notes).toHaveLength(1);
  });

  it("ends nothing on an interrupt once it answers again", async () => {
    const { stops, begin } = open();
    const { work, finish } = begin();
    await vi.advanceTimersByTimeAsync(6000);
    finish();
    await work;
    stops[0]?.();
    const next = begin();
    next.finish();
    expect(await next.work).toBe("recorded");
  });
});
