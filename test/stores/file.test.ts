import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileStore, type ProcessMark } from "../../src/stores/file.ts";
import { describeStore } from "../contracts/store.ts";

describeStore("the file store", () => {
  const directory = mkdtempSync(join(tmpdir(), "store-"));
  let living = 1;
  const isAlive = ({ pid }: ProcessMark) => pid === living;
  const storeOf = (pid: number) => fileStore({ directory, self: { pid, host: "here", started: "" }, isAlive });
  let store = storeOf(living);
  return {
    get store() {
      return store;
    },
    crash() {
      living += 1;
      store = storeOf(living);
      return store;
    },
    close: () => rmSync(directory, { recursive: true, force: true }),
  };
});
