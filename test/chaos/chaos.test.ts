import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Grounds, openGrounds } from "./grounds.ts";
import { runGroup } from "./group.ts";
import { emptyTally } from "./tally.ts";

/** A slice of `npm run test:chaos`. */
describe("random workflows, killed at random places", () => {
  let grounds: Grounds;
  beforeAll(async () => {
    grounds = await openGrounds();
  });
  afterAll(() => grounds.close());

  it("end as if nothing had happened: nothing is lost, and no write is repeated", async () => {
    const tally = emptyTally();
    await runGroup(grounds, { seed: 6, together: 2, mostLives: 1 }, tally);
    expect(tally.failures).toEqual([]);
    expect(tally).toMatchObject({ runs: 2 });
    expect(tally.kills).toBeGreaterThan(1);
  }, 180_000);
});
