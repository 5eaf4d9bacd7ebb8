// A pod of another team that has been failing for weeks: it contacts a host that refuses, logs that, and tries again.
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const { INSTANCE, REFUSING_PORT, PEER, EVERY_MS } = process.env;
process.once("SIGTERM", () => process.exit(0));
for (let attempt = Number(process.env.ATTEMPT); ; attempt += 1) {
  const reason = await refusal();
  const line = `CrashLoopBackOff pod ${INSTANCE} restart ${attempt}: ${PEER} is not reachable (${reason})`;
  process.stdout.write(`${new Date().toISOString()} ERROR ${line}\n`);
  await sleep(Number(EVERY_MS));
}

function refusal() {
  return new Promise((resolve) => {
    const socket = connect(Number(REFUSING_PORT), "127.0.0.1");
    socket.once("error", ({ code }) => resolve(code));
    socket.once("connect", () => resolve(socket.destroy() && "connected"));
  });
}
