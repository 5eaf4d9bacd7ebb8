import { memoryStore } from "../../src/stores/memory.ts";
import { describeStore } from "../contracts/store.ts";

describeStore("the memory store", { killsEvery: 1 }, () => {
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
