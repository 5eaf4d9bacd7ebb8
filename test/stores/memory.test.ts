import { memoryStore } from "../../src/stores/memory.ts";
import { describeStore } from "../contracts/store.ts";
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
