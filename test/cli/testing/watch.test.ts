import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { removeProjects, runProgram } from "../program.ts";
import { hasTerminal } from "../pseudo-terminal.ts";
import { caseOf, makeDesk } from "./desk.ts";

afterAll(removeProjects);

/** A user who changes a file once the tests wait, and stops them once they have run again. */
const PERSON = `
import os, pty, sys
project = sys.argv[1]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
seen = b""
waits = 0
while True:
    try:
        text = os.read(terminal, 65536)
    except OSError:
        break
    if not text:
        break
    sys.stdout.buffer.write(text)
    sys.stdout.flush()
    seen += text
    while b"waiting for a change" in seen:
        seen = seen.split(b"waiting for a change", 1)[1]
        waits += 1
        if waits == 1:
            with open(project + "/triage.script.yml") as script:
                words = script.read().replace("verdict: incident", "verdict: false_alarm")
            with open(project + "/triage.script.yml", "w") as script:
                script.write(words)
        else:
            os.write(terminal, b"\\x03")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

it.skipIf(!hasTerminal)(
  "watched tests run again, and only they, when a file that they depend on changes, until Ctrl-C",
  async () => {
    const cwd = makeDesk({ "triage.test.yml": caseOf("{ verdict: incident }") });
    const other = readFileSync(join(cwd, "triage.test.yml"), "utf8").replace("script:./triage", "script:./other");
    writeFileSync(join(cwd, "other.test.yml"), other.replace("a leak is filed once", "another"));
    writeFileSync(join(cwd, "other.script.yml"), readFileSync(join(cwd, "triage.script.yml")));
    const { code, stdout } = await runProgram(["test", "--watch"], { cwd, through: ["python3", "-c", PERSON, cwd] });
    expect(code).toBe(130);
    const runs = stdout.split("waiting for a change");
    expect(runs[0]).toMatch(/✔.*other\.test\.yml > another[\s\S]*✔.*triage\.test\.yml > a leak/);
    expect(runs[1]).toMatch(/✘.*triage\.test\.yml > a leak/);
    expect(runs[1]).not.toContain("another");
  },
);
