import { createServer } from "node:http";

/** Answers each JSON request with this many prepared bytes of JSON. */
const answer = JSON.stringify({ jsonrpc: "2.0", id: 1, result: "x".repeat(Math.max(0, Number(process.argv[2]) - 40)) });
const server = createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    JSON.parse(Buffer.concat(parts));
    response.writeHead(200, { "content-type": "application/json", "content-length": answer.length });
    response.end(answer);
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
