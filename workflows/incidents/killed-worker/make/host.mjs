// The host of a worker: starts it, restarts it when it ends, and logs both as systemd does.
import { spawn } from "node:child_process";
import { appendFileSync, openSync, writeFileSync } from "node:fs";

const { WORKER, WORKER_LOG, PID_FILE, AGAIN_MS, VERSION } = process.env;
let stopping = false;
let child;
start();
process.once("SIGTERM", () => {
  stopping = true;
  child.once("exit", () => process.exit());
  child.kill("SIGTERM");
});

function start() {
  child = spawn(process.execPath, [WORKER], {
    env: process.env,
    stdio: ["ignore", openSync(WORKER_LOG, "a"), "inherit"],
  });
  writeFileSync(PID_FILE, String(child.pid));
  write(`Started mailer.service - Mail worker ${VERSION}.`);
  child.once("exit", (code, signal) => {
    if (stopping) return;
    const status = signal ? `code=killed, status=9/${signal.slice(3)}` : `code=exited, status=${code}`;
    write(`mailer.service: Main process exited, ${status}`);
    write(`mailer.service: Failed with result '${signal ? "signal" : "exit-code"}'.`);
    setTimeout(start, Number(AGAIN_MS));
  });
}

/** Nov 22 09:31:02 mail-host-1 systemd[1]: … */
function write(text) {
  const [, day, month, , time] = /, (\d+) (\w+) (\d+) (\S+)/.exec(new Date().toUTCString());
  appendFileSync(1, `${month} ${day} ${time} mail-host-1 systemd[1]: ${text}\n`);
}
