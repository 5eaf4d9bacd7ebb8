// The stock service, over TLS. Its access log is exported as a table.
import { readFileSync } from "node:fs";
import { createServer } from "node:https";

const { PORT, KEY, CERTIFICATE } = process.env;
process.stdout.write("time,remote,method,path,status,note\n");
const server = createServer({ key: readFileSync(KEY), cert: readFileSync(CERTIFICATE) }, (request, response) => {
  request.resume();
  request.once("end", () => {
    response.writeHead(201).end();
    row(request.method, request.url, 201, "");
  });
});
server.on("tlsClientError", (error) =>
  row("", "", "", `"handshake failed: ${error.message.split("\n")[0].split(":").slice(-3).join(":")}"`),
);
server.listen(Number(PORT), "127.0.0.1");
process.once("SIGTERM", () => process.exit());

function row(...cells) {
  process.stdout.write(`${new Date().toISOString()},10.0.4.7,${cells.join(",")}\n`);
}
