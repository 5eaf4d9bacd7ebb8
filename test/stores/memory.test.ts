import { expect, it } from "vitest";
import { memoryStore } from "../../src/stores/memory.ts";
import { describeStore, does, warning } from "../contracts/store.ts";
import { recordOf } from "../contracts/triage.ts";
import { LONG } from "../harness/long.ts";

describeStore("the memory store", { killsEvery: LONG ? 1 : 9 }, () => {
  const store = memoryStore();
  return {
    store,
    crash: () => {
      store.crash();
      return store;
    },
    close: () => undefined,
  };
});

it("seals the events of a run when it is read, and those that follow when it is read again", async () => {
  const store = memoryStore();
  const journal = await store.create(recordOf("a"));
  const [first] = await journal.record("one", does(warning("1")));
  expect(first?.seal).toBeUndefined();
  const before = await store.verify("a");
  await journal.record("two", does(warning("2")));
  expect((await store.read("a")).events.map(({ seal }) => typeof seal)).toEqual(["string", "string"]);
  expect(before).toMatchObject({ digest: first?.seal, problems: [] });
  expect(await store.verify("a")).toMatchObject({ records: 3, problems: [] });
});

it("returns a record at once if nothing has to be waited for", async () => {
  const journal = await memoryStore().create(recordOf("a"));
  expect(journal.record("one", () => [warning("1")])).toMatchObject([{ seq: 0, message: "1" }]);
  await expect(journal.record("two", () => missing())).rejects.toThrow("no luck");
  expect(journal.record("two", () => [warning("2")])).toMatchObject([{ seq: 1, message: "2" }]);
});

it("accepts more events at once than a call can have arguments", async () => {
  const store = memoryStore();
  const journal = await store.create(recordOf("a"));
  await journal.record("one", () => Array.from({ length: 200_000 }, () => warning("1")));
  expect((await store.skim("a")).events).toHaveLength(200_000);
});

function missing(): never {
  throw new Error("no luck");
}
