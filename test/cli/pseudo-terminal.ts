import { spawnSync } from "node:child_process";
import { type Ended, type ProgramOptions, runProgram } from "./program.ts";

/** The program on a terminal, with a user who answers its prompts. */

/** Python's pty module makes the terminal. */
export const hasTerminal = spawnSync("python3", ["-c", "import pty"]).status === 0;

const PERSON = `
import json, os, pty, re, sys
answers = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
unanswered = b""
while True:
    try:
        text = os.read(terminal, 65536)
    except OSError:
        break
    if not text:
        break
    sys.stdout.buffer.write(text)
    sys.stdout.flush()
    unanswered += text
    while answers and (asked := re.search(rb"\\[(y/N|[a-z-]+)\\] ", unanswered)):
        unanswered = unanswered[asked.end():]
        os.write(terminal, answers.pop(0).encode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

/** All that the terminal showed is in `stdout`. A prompt beyond the answers waits forever. */
export function runOnTerminal(
  args: readonly string[],
  answers: readonly string[],
  options: ProgramOptions,
): Promise<Ended> {
  return runProgram(args, { ...options, through: ["python3", "-c", PERSON, JSON.stringify(answers)] });
}
