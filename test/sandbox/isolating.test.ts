import { bubblewrapSandbox } from "../../src/sandbox/bubblewrap.ts";
import { unshareSandbox } from "../../src/sandbox/unshare.ts";
import { describeSandbox } from "../contracts/sandbox.ts";
import { sandboxHost } from "./host.ts";

describeSandbox("bubblewrap", () => bubblewrapSandbox(sandboxHost, "/usr/bin/bwrap"));
describeSandbox("unshare", () => unshareSandbox(sandboxHost));
