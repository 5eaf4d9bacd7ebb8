import { execFile } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { withEnvFrom } from "../../src/cli/env-from.ts";
import type { Io } from "../../src/cli/io.ts";
import { runInside } from "../cli/inside.ts";
import { makeProject, programCommand, runProgram } from "../cli/program.ts";

const HOSTILE = {
  "evil.cjs": 'console.log("EVIL RAN")',
  "evil.env": 'NODE_OPTIONS="--require ./evil.cjs"\n',
};

/** The installed file started directly, as a shell does, or through another name. */
function start(program: string, args: readonly string[], cwd: string) {
  const { env } = programCommand([]);
  return new Promise<{ code: unknown; output: string }>((resolve) => {
    execFile(program, args, { cwd, env }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, output: stdout + stderr }),
    );
  });
}

describe("a file of variables whose NODE_OPTIONS run code", () => {
  test.each([
    ["the installed program", (bin: string) => bin],
    [
      "the link that npm makes to it",
      (bin: string) => {
        const link = join(makeProject(), "skillflow");
        symlinkSync(bin, link);
        return link;
      },
    ],
  ])("runs nothing by --env-file of %s", async (_, programOf) => {
    const cwd = makeProject(HOSTILE);
    const program = programOf(programCommand([]).args[0] ?? "");
    for (const flag of [["--env-file", "evil.env"], ["--env-file=evil.env"], ["--env-file-if-exists=evil.env"]]) {
      const { code, output } = await start(program, ["runs", "list", ...flag], cwd);
      expect(code, output).toBe(2);
      expect(output).toContain("--env-from");
      expect(output).not.toContain("EVIL RAN");
    }
  });

  it("runs nothing by --env-from, even if Node is started without --", async () => {
    const { code, stdout, stderr } = await runProgram(["runs", "list", "--env-from", "evil.env"], {
      cwd: makeProject(HOSTILE),
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(/evil\.env may not hold NODE_OPTIONS/);
    expect(stdout + stderr).not.toContain("EVIL RAN");
  });

  it("is refused by the old name in any position, before anything is read", async () => {
    for (const args of [
      ["--env-file", "evil.env", "runs", "list"],
      ["runs", "--env-file=evil.env", "list"],
      ["doctor", "--env-file"],
    ]) {
      const { code, stderr } = await runInside(args, { cwd: makeProject({ "evil.env": "A=b" }) });
      expect([code, stderr], args.join(" ")).toEqual([2, expect.stringContaining("--env-from PATH")]);
    }
  });
});

describe("a file that --env-from names", () => {
  const seen = (content: string, env: Readonly<Record<string, string>> = {}) => {
    const io = { host: { cwd: makeProject({ "my.env": content }), env } } as Io;
    return withEnvFrom(io, { envFrom: "my.env" }).host.env;
  };

  test.each([
    ["NODE_OPTIONS"],
    ["NODE_EXTRA_CA_CERTS"],
    ["LD_PRELOAD"],
    ["DYLD_INSERT_LIBRARIES"],
    ["SKILLFLOW_TRUST_SKILL"],
    ["SKILLFLOW_WRITES"],
    ["PATH"],
    ["HOME"],
    ["XDG_CONFIG_HOME"],
    ["GIT_SSH_COMMAND"],
    ["SSH_ASKPASS"],
    ["SSH_ASKPASS_REQUIRE"],
    ["SSH_AUTH_SOCK"],
    ["SSH_SK_PROVIDER"],
    ["SSH_PKCS11_HELPER"],
    ["SSL_CERT_FILE"],
    ["USERPROFILE"],
    ["HTTPS_PROXY"],
    ["https_proxy"],
    ["Path"],
  ])("may not hold %s", (name) => {
    expect(() => seen(`DESK_TOKEN=abc\n${name}=x\n`)).toThrow(`my.env may not hold ${name}`);
  });

  it("sets only variables that are not set yet", () => {
    expect(seen("A=file\nB=file\nMY_NODE=kept\nPATHS=kept\nSSH_PRIVATE_KEY=kept\n", { A: "set" })).toEqual({
      A: "set",
      B: "file",
      MY_NODE: "kept",
      PATHS: "kept",
      SSH_PRIVATE_KEY: "kept",
    });
  });

  it("must exist", () => {
    const io = { host: { cwd: makeProject(), env: {} } } as Io;
    expect(() => withEnvFrom(io, { envFrom: "nowhere" })).toThrow("there is no file nowhere");
  });
});
