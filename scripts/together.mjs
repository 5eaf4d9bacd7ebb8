import { spawn } from "node:child_process";

/** Runs the given commands in parallel, prints each one's output when it ends, and fails if one fails. */

const codes = await Promise.all(process.argv.slice(2).map(run));
process.exitCode = codes.some((code) => code !== 0) ? 1 : 0;

function run(command) {
  return new Promise((resolve) => {
    const child = spawn(command, { shell: true, stdio: ["ignore", "pipe", "pipe"] });
    const printed = [];
    for (const name of ["stdout", "stderr"]) child[name].on("data", (chunk) => printed.push([process[name], chunk]));
    child.on("close", (code) => {
      for (const [stream, chunk] of printed) stream.write(chunk);
      resolve(code);
    });
  });
}
