// Hands its port to the proxy, then starts the real program when the channel closes. It leaves its own streams untouched,
// because the program shares them.
const [port, program, ...args] = process.argv.slice(1);
const server = require("node:net").createServer();
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => undefined);
process.once("disconnect", () => {
  const child = require("node:child_process").spawn(program, args, { stdio: "inherit" });
  const number = (signal) => 128 + require("node:os").constants.signals[signal];
  child.on("exit", (code, signal) => process.exit(code ?? number(signal)));
});
server.listen(Number(port), "127.0.0.1", () => process.send("port", server, () => server.close()));
