import { describe } from "vitest";
import { describeSandbox } from "../../contracts/sandbox.ts";
import { isolatingSandboxes } from "../isolating.ts";

for (const [name, sandbox, works] of isolatingSandboxes) {
  describe.skipIf(!works)(works ? "here" : `${name} cannot work on this machine`, () => {
    describeSandbox(name, () => sandbox);
  });
}
