import { execFile, spawn, spawnSync } from "node:child_process";
import { createSocket, type Socket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Server } from "node:net";
import { hostname, networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from "vitest";
import { isRefusedAddress } from "../../src/core/base/address/address.ts";
import type { ForeignCommand, ForeignResult, Mount, Sandbox } from "../../src/core/skill/sandbox.ts";
import { seccompFilter } from "../../src/sandbox/isolation/seccomp.ts";
import { makeProject } from "../cli/program.ts";
import { bundled } from "../harness/bundled.ts";
import { oneOf, sliceOf, spreadOf } from "../harness/long.ts";
import { commandOf, nodeProgram } from "../sandbox/command.ts";
import { makeFifo } from "../sandbox/fifo.ts";
import { isolatingSandboxes } from "../sandbox/isolating.ts";

const it = oneOf(6);

/**
 * The attempts of a hostile program, and that they have no effect. If the same probe can run outside of the sandbox
 * without harm, it does, and succeeds: a probe that cannot succeed proves nothing.
 */

const REPOSITORY = join(import.meta.dirname, "..", "..");
const LAUNCHER = bundled(join(REPOSITORY, "test/sandbox/launcher.ts"), makeProject());
const ORPHAN = bundled(join(REPOSITORY, "test/sandbox/orphan.ts"), makeProject());
const CANARY = "canary-3f9a1c";
const isRoot = process.geteuid?.() === 0;
const hasPython = existsSync("/usr/bin/python3");
const start = promisify(execFile);

/** This machine's name, if it resolves to a private address. */
const ownName = await lookup(hostname()).then(
  ({ address }) => (isRefusedAddress(address) ? hostname().toLowerCase() : undefined),
  () => undefined,
);

/** Not where temporary files are kept in memory. */
function countsWrites(): boolean {
  const written = () => Number(/^write_bytes: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
  if (!existsSync("/proc/self/io")) return false;
  const before = written();
  const folder = mkdtempSync(join(tmpdir(), "skillflow-test-"));
  writeFileSync(join(folder, "file"), Buffer.alloc(1e6));
  rmSync(folder, { recursive: true });
  return written() > before;
}

/** Starts as many processes as a machine survives if the sandbox does not contain them. */
const BOMB = "i=0; while [ $i -lt 400 ]; do (sleep 30; :) & i=$((i+1)); done; wait";

/** On a busy machine the kernel's own bound may be quicker than our count: then the shell cannot fork any more. */
function whatEndedBomb({ ended, code, stderr }: ForeignResult): ForeignResult["ended"] {
  return ended === "exit" && code !== 0 && /fork/i.test(stderr) ? "processes" : ended;
}

/** Runs the same program as an ordinary process. */
async function outside([program, ...args]: ForeignCommand["argv"]): Promise<string> {
  return (await start(program, args)).stdout;
}

const python = (code: string, ...args: string[]): ForeignCommand["argv"] => ["/usr/bin/python3", "-c", code, ...args];

for (const [name, sandbox, works] of isolatingSandboxes) {
  describe.skipIf(!works)(works ? `a hostile program in ${name}` : `${name} cannot work on this machine`, () => {
    attack(sandbox);
  });
}

function attack(sandbox: Sandbox): void {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "skillflow-test-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const run = (parts: Partial<ForeignCommand> & Pick<ForeignCommand, "argv">) => sandbox.run(commandOf(parts));
  const inside = async (argv: ForeignCommand["argv"], parts: Partial<ForeignCommand> = {}) => {
    const ended = await run({ ...parts, argv });
    expect(ended).toMatchObject({ ended: "exit", code: 0, stderr: "" });
    return ended.stdout;
  };
  /** A folder that the program sees as this path. */
  const shown = (target: string, writable: boolean, disposable = true): Mount => ({
    source: folder,
    target,
    writable,
    disposable,
  });

  describe("the user of the program", () => {
    it("has no privileges, and cannot gain any", async () => {
      const status = await inside(
        nodeProgram(`console.log(require("node:fs").readFileSync("/proc/self/status", "utf8"))`),
      );
      const field = (key: string) => new RegExp(`^${key}:\\s*(.*)$`, "m").exec(status)?.[1]?.trim();
      for (const key of ["CapInh", "CapPrm", "CapEff", "CapAmb"]) expect(field(key)).toBe("0000000000000000");
      expect(field("NoNewPrivs")).toBe("1");
      expect(field("Uid")).toBe("1000\t1000\t1000\t1000");
      expect(field("Gid")).toBe("1000\t1000\t1000\t1000");
    });

    it("inherits no file except its three streams, also none that this process was started with", async () => {
      const descriptor = openSync(REPOSITORY, "r");
      const launched = spawnSync("node", [LAUNCHER, sandbox.name, "ls /proc/self/fd; ls /proc/self/fd/9/"], {
        cwd: REPOSITORY,
        stdio: ["ignore", "pipe", "pipe", ...Array(6).fill("ignore"), descriptor],
        encoding: "utf8",
      });
      closeSync(descriptor);
      const [held, stdout] = JSON.parse(launched.stdout);
      expect(held).toContain("package.json");
      expect(stdout).not.toContain("package.json");
      expect(stdout).toMatch(/^0\n1\n2\n(\d+\n)+$/);
    });

    it.skipIf(!isRoot)("gains nothing from a setuid program", async () => {
      const copy = join(folder, "id");
      copyFileSync("/usr/bin/id", copy);
      chmodSync(copy, 0o4755);
      chmodSync(folder, 0o755);
      const argv = ["/skills/a/id", "-u"] as const;
      expect((await outside(["/usr/bin/setpriv", "--reuid=1234", "--clear-groups", copy, "-u"])).trim()).toBe("0");
      expect((await inside(argv, { mounts: [shown("/skills/a", false)] })).trim()).toBe("1000");
    });

    it("creates no user namespace", async () => {
      const argv = ["unshare", "--user", "--map-root-user", "id", "-u"] as const;
      if (isRoot) expect((await outside(argv)).trim()).toBe("0");
      const ended = await run({ argv });
      expect(ended).toMatchObject({ code: 1, stdout: "" });
    });

    it.skipIf(sandbox.name !== "unshare")("may create none by the kernel's own limit", async () => {
      expect(await inside(["cat", "/proc/sys/user/max_user_namespaces"])).toBe("0\n");
    });

    it.skipIf(!hasPython)("makes no mount, changes none, and enters no other namespace", async () => {
      const code = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
MS_REMOUNT, MS_BIND = 32, 4096
tried = {
  "remount": libc.mount(None, b"/skills/a", None, MS_REMOUNT | MS_BIND, None),
  "remount root": libc.mount(None, b"/", None, MS_REMOUNT | MS_BIND, None),
  "bind": libc.mount(b"/tmp", b"/skills/a", None, MS_BIND, None),
  "tmpfs": libc.mount(b"x", b"/skills/a", b"tmpfs", 0, None),
  "proc": libc.mount(b"x", b"/tmp", b"proc", 0, None),
  "umount": libc.umount2(b"/skills/a", 2),
  "chroot": libc.chroot(b"/tmp"),
  "pivot": libc.syscall(155, b"/tmp", b"/tmp"),
  "mknod": libc.mknod(b"/tmp/disk", 0o60666, os.makedev(254, 0)),
  "unshare": libc.unshare(0x00020000),
}
for space in os.listdir("/proc/1/ns"):
  try: tried["setns " + space] = libc.setns(os.open("/proc/1/ns/" + space, os.O_RDONLY), 0)
  except OSError: pass
print([what for what, answer in tried.items() if answer == 0 and what not in ("setns time", "setns time_for_children")])
try: open("/skills/a/file", "w"); print("written")
except OSError: print("held")
`;
      writeFileSync(join(folder, "file"), "as it was");
      expect(await inside(python(code), { mounts: [shown("/skills/a", false)] })).toBe("[]\nheld\n");
      expect(readFileSync(join(folder, "file"), "utf8")).toBe("as it was");
    });
  });

  describe.skipIf(!seccompFilter() || !hasPython)("other interfaces of the kernel", () => {
    it("give no key of the session that this process was started in", () => {
      // The session keyring is inherited by each program that is started, which can use its keys.
      const code = `
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.syscall(int(sys.argv[1]), 1, None)
libc.syscall(int(sys.argv[2]), b"user", b"${CANARY}", b"content", 7, -3)
os.execvp("node", ["node", *sys.argv[3:]])
`;
      const [keyctl = "", add_key = ""] = process.arch === "x64" ? ["250", "248"] : ["219", "217"];
      const search = `import ctypes; print(ctypes.CDLL(None).syscall(${keyctl}, 10, -3, b"user", b"${CANARY}", 0) > 0)`;
      const argv = ["-c", code, keyctl, add_key, LAUNCHER, sandbox.name, `/usr/bin/python3 -c '${search}'`];
      const stdio = ["ignore", "pipe", "inherit", ...Array(6).fill("ignore"), "ignore"] as const;
      const launched = spawnSync("/usr/bin/python3", argv, { cwd: REPOSITORY, stdio: [...stdio], encoding: "utf8" });
      expect(JSON.parse(launched.stdout)).toEqual(["True\n", "False\n"]);
    });

    it("give no disk space that is not counted", async () => {
      const code = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
for mode in (0, 1, 0x10):
  file = os.open("/workspace/file", os.O_RDWR | os.O_CREAT)
  print(libc.fallocate(file, mode, 0, 50_000_000), os.fstat(file).st_blocks)
os.posix_fallocate(file, 0, 1_000_000)
print(os.fstat(file).st_size)
`;
      const told = await inside(python(code), { mounts: [shown("/workspace", true)] });
      expect(told).toBe("-1 0\n-1 0\n-1 0\n1000000\n");
    });

    it("give no memory that is not counted", async () => {
      const code = `
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
for number, *rest in ((sys.argv[1], b"held", 0), (447, 0), (sys.argv[2], 0, 1_000_000, 0o1600), (sys.argv[3], 0, 0o1600)):
  print(libc.syscall(int(number), *rest), os.strerror(ctypes.get_errno()))
`;
      const numbers = process.arch === "x64" ? ["319", "29", "68"] : ["279", "194", "186"];
      expect(await inside(python(code, ...numbers))).toBe("-1 Function not implemented\n".repeat(4));
    });

    it("are blocked: sockets of no network namespace, keyrings, tracing, rings", async () => {
      const code = `
import ctypes, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
opened = []
for family in range(46):
  for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
    try: socket.socket(family, kind).close(); opened.append(family)
    except OSError: pass
calls = [libc.syscall(int(number), *rest) for number, *rest in ((sys.argv[1], 0, -3, 0), (sys.argv[2], 16, 1), (425, 1, ctypes.create_string_buffer(256)))]
print(sorted(set(opened)), [answer for answer in calls if answer >= 0])
`;
      const numbers = process.arch === "x64" ? ["250", "101"] : ["219", "117"];
      const [keyctl = "", ptrace = ""] = numbers;
      if (isRoot) expect(await outside(python(code, keyctl, ptrace))).toMatch(/^\[1, 2, /);
      expect(await inside(python(code, keyctl, ptrace))).toMatch(/^\[2, 10(, 16)?\] \[\]\n$/);
    });
  });

  describe("the network", () => {
    let tcp: Server;
    let udp: Socket;
    let abstract: Server;
    const portOf = (server: Server | Socket) => (server.address() as { port: number }).port;
    const abstractName = `\0skillflow-test-${process.pid}`;
    beforeAll(async () => {
      tcp = createServer((socket) => socket.end("hello")).listen(0, "127.0.0.1");
      abstract = createServer((socket) => socket.end("hello")).listen(abstractName);
      udp = createSocket("udp4").bind(0, "127.0.0.1");
      await Promise.all([once(tcp, "listening"), once(abstract, "listening"), once(udp, "listening")]);
    });
    afterAll(() => {
      tcp.close();
      abstract.close();
      udp.close();
    });

    const connects = (to: unknown) =>
      nodeProgram(`
      const socket = require("node:net").connect(${JSON.stringify(to)});
      socket.on("data", (data) => console.log(String(data))).on("error", () => console.log("refused"));`);

    it("reaches no service of this machine", async () => {
      const argv = connects({ port: portOf(tcp), host: "127.0.0.1" });
      expect(await outside(argv)).toBe("hello\n");
      expect(await inside(argv)).toBe("refused\n");
    });

    it("is available to a command that asks for it", async () => {
      const argv = connects({ port: portOf(tcp), host: "127.0.0.1" });
      expect(await inside(argv, { network: true })).toBe("hello\n");
    });

    it("reaches no abstract socket of this machine", async () => {
      const argv = connects({ path: abstractName });
      expect(await outside(argv)).toBe("hello\n");
      expect(await inside(argv)).toBe("refused\n");
    });

    it("sends no datagram, not even a question for a name", async () => {
      const received: string[] = [];
      const arrived = (what: string) =>
        new Promise<void>((resolve) => {
          udp.on("message", (message) => {
            received.push(message.toString("latin1").includes(what) ? what : "other");
            if (received.at(-1) === what) resolve();
          });
        });
      const asks = (name: string) =>
        nodeProgram(`
        const resolver = new (require("node:dns").Resolver)({ timeout: 200, tries: 1 });
        resolver.setServers(["127.0.0.1:${portOf(udp)}"]);
        resolver.resolve4("${name}.test", () => console.log("done"));`);
      await inside(asks("within"));
      const control = arrived("without");
      expect(await outside(asks("without"))).toBe("done\n");
      await control;
      expect(received).toEqual(["without"]);
      udp.removeAllListeners("message");
    });
  });

  describe.skipIf(!seccompFilter())("a Unix socket in the working directory", () => {
    const NETWORKS: readonly (readonly [string, ForeignCommand["network"]])[] = [
      ["none", false],
      ["this machine's", true],
      ["some hosts", ["example.test"]],
    ];
    const heard: string[] = [];
    let stream: Server;
    let path: string;
    beforeEach(async () => {
      heard.length = 0;
      path = join(folder, "docker.sock");
      stream = createServer((near) => {
        near.on("error", () => undefined).on("data", (data) => heard.push(`${data}`));
        near.end("hello");
      }).listen(path);
      await once(stream, "listening");
      chmodSync(folder, 0o777);
      chmodSync(path, 0o777);
    });
    afterEach(() => stream.close());
    const writable = (): Mount[] => [shown(folder, true)];

    it.each(NETWORKS)("is out of reach of Node and of shell tools, with the network: %s", async (_name, network) => {
      const node = nodeProgram(
        `const socket = require("node:net").connect(process.argv[1]);
        socket.on("data", (data) => console.log(String(data))).on("error", () => console.log("refused"));`,
        path,
      );
      const tool = `use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0) && connect(S, sockaddr_un($ARGV[0])) ? print(<S>, "\n") : print "refused\n"`;
      for (const argv of [node, ["sh", "-c", `perl -e '${tool}' "$0"`, path] as const]) {
        expect(await outside(argv)).toBe("hello\n");
        expect(await inside(argv, { mounts: writable(), network })).toBe("refused\n");
      }
    });

    it.skipIf(!hasPython).each(NETWORKS)("is out of reach of Python, with the network: %s", async (_name, network) => {
      const code = `
import ctypes, os, socket, sys
path, letters = sys.argv[1], sys.argv[2]
def sends(make):
  with make() as one:
    one.sendto(b"letter", letters)
    return True
def connects(kind, bound):
  with socket.socket(socket.AF_UNIX, kind) as one:
    if bound: one.bind(path + str(kind) + ".own")
    one.connect(path if kind == socket.SOCK_STREAM else letters)
    return True
def raw(number):
  libc = ctypes.CDLL(None)
  one = libc.syscall(number, 1, 1, 0)
  return one >= 0 and libc.connect(one, ctypes.create_string_buffer(b"\\1\\0" + path.encode()), len(path) + 3) == 0
tries = [
  lambda: connects(socket.SOCK_STREAM, False),
  lambda: connects(socket.SOCK_STREAM, True),
  lambda: connects(socket.SOCK_DGRAM, True),
  lambda: sends(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)),
  lambda: sends(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]),
  lambda: sends(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)[0]),
  lambda: sends(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)[0]),
  lambda: sends(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)[0]),
  lambda: sends(lambda: socket.socket(fileno=os.dup(1))),
  lambda: raw(${process.arch === "x64" ? 41 : 198}),
  lambda: raw(${process.arch === "x64" ? 0x40000000 + 41 : 198}),
]
for one in tries:
  try: print("reached" if one() else "refused")
  except OSError: print("refused")
a, b = socket.socketpair()
a.send(b"pairs still work")
print(b.recv(99).decode())
`;
      const letters = join(folder, "letters.sock");
      const listens = `import socket, os; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind("${letters}"); os.chmod("${letters}", 0o777)\nprint("bound", flush=True)\nwhile True: print(s.recv(99).decode(), flush=True)`;
      const listener = spawn("/usr/bin/python3", ["-c", listens], { stdio: ["ignore", "pipe", "inherit"] });
      const read: string[] = [];
      listener.stdout.setEncoding("utf8").on("data", (text: string) => read.push(text));
      await once(listener.stdout, "data");
      const told = await inside(python(code, path, letters), { mounts: writable(), network }).catch(String);
      const arrived = once(listener.stdout, "data");
      const control = await outside(python(code, path, letters)).finally(() => arrived.finally(() => listener.kill()));
      expect(control).toContain("reached\nreached\nreached\nreached\nreached\n");
      await arrived;
      expect(told.trim().split("\n")).toEqual([...Array(11).fill("refused"), "pairs still work"]);
      expect(heard).toEqual([]);
      expect(read.join("").match(/letter/g)?.length).toBeGreaterThan(0);
    });
  });

  describe("the network of a command that names hosts", () => {
    const web = createHttpServer((asked, answer) => answer.end(`told ${asked.url}`));
    const silent = createServer((socket) => socket.on("error", () => undefined));
    const udp = createSocket("udp4");
    const portOf = (server: Server | Socket) => (server.address() as { port: number }).port;
    let here: string;
    beforeAll(async () => {
      web.listen(0, "127.0.0.1");
      silent.listen(0, "127.0.0.1");
      udp.bind(0, "127.0.0.1");
      await Promise.all([once(web, "listening"), once(silent, "listening"), once(udp, "listening")]);
      here = `127.0.0.1:${portOf(web)}`;
    });
    afterAll(() => {
      web.close();
      silent.close();
      udp.close();
    });

    /** Requests each address through the proxy that the environment names, all at once. Prints each response. */
    const asks = (...addresses: string[]) =>
      nodeProgram(
        `const { hostname, port } = new URL(process.env.HTTP_PROXY);
        const told = process.argv.slice(1).map((path) => new Promise((resolve) => {
          const asked = require("node:http").get({ hostname, port, path, agent: false }, (answer) => {
            let text = answer.statusCode + " "; answer.on("data", (data) => (text += data)).on("end", () => resolve(text.trim()));
          });
          asked.on("error", (error) => resolve(error.code)); }));
        Promise.all(told).then((all) => console.log(JSON.stringify(all)));`,
        ...addresses,
      );
    const asking = async (network: readonly string[], ...addresses: string[]) => {
      const ended = await run({ argv: asks(...addresses), network });
      return { told: JSON.parse(ended.stdout) as string[], stderr: ended.stderr };
    };

    it("reaches them through the proxy that its environment names", async () => {
      expect(await asking([here], `http://${here}/a`)).toEqual({ told: ["200 told /a"], stderr: "" });
    });

    it("reaches them with fetch, whatever the version of Node", async () => {
      const code = `fetch(process.argv[1]).then((answer) => answer.text()).then(console.log)`;
      expect(await inside(nodeProgram(code, `http://${here}/a`), { network: [here] })).toBe("told /a\n");
    });

    it.skipIf(!hasPython)("reaches them with Python's urllib", async () => {
      const code = "import sys, urllib.request as web; print(web.urlopen(sys.argv[1]).read().decode())";
      expect(await inside(python(code, `http://${here}/a`), { network: [here] })).toBe("told /a\n");
      const ended = await run({ argv: python(code, "https://evil.test/"), network: [here] });
      expect(ended.stderr).toContain("403 Host not declared: evil.test:443");
    });

    it.skipIf(!existsSync("/usr/bin/curl"))("reaches them with curl, also through a tunnel", async () => {
      for (const flags of ["-sS", "-sSp"]) {
        expect(await inside(["curl", flags, `http://${here}/a`], { network: [here] })).toBe("told /a");
      }
    });

    it("reaches them fifty times at once", async () => {
      const addresses = Array.from({ length: 50 }, (_, i) => `http://${here}/${i}`);
      const { told } = await asking([here], ...addresses);
      expect(told).toEqual(addresses.map((_, i) => `200 told /${i}`));
    });

    it("reaches no other host, no other port and no metadata service, and the result reports it", async () => {
      const other = `127.0.0.1:${portOf(silent)}`;
      const places = ["evil.test:80", "169.254.169.254:80", other, "[::1]:80", `localhost:${portOf(web)}`];
      const { told, stderr } = await asking([here], ...places.map((place) => `http://${place}/`));
      for (const each of told) expect(each).toMatch(/^403 .* was refused: the skill does not declare this host/);
      for (const place of places) expect(stderr).toContain(`${place.replace(/[[\]]/g, "")} was refused`);
    });

    it.skipIf(!ownName)("reaches no private address through an allowed name", async () => {
      const { told } = await asking([`${ownName}:${portOf(web)}`], `http://${ownName}:${portOf(web)}/`);
      expect(told[0]).toMatch(/^403 .* leads to a private, local or metadata address/);
    });

    it("reaches no service of this machine without the proxy, not even a declared one", async () => {
      const addresses = Object.values(networkInterfaces()).flatMap((each) =>
        (each ?? []).map(({ address }) => address),
      );
      const code = `const tried = process.argv.slice(2).map((host) => new Promise((resolve) => require("node:net")
        .connect({ host, port: Number(process.argv[1]) }).on("connect", () => resolve(host)).on("error", () => resolve())));
        Promise.all(tried).then((all) => console.log(JSON.stringify(all.filter(Boolean)))).then(() => process.exit());`;
      const argv = nodeProgram(code, `${portOf(web)}`, ...addresses);
      expect(JSON.parse(await outside(argv))).toContain("127.0.0.1");
      expect(JSON.parse(await inside(argv, { network: [here] }))).toEqual([]);
    });

    it("resolves no name and sends no datagram", async () => {
      const received: string[] = [];
      udp.on("message", (message) => received.push(String(message)));
      const code = `const dns = require("node:dns").promises; const udp = require("node:dgram").createSocket("udp4");
        const resolver = new dns.Resolver({ timeout: 200, tries: 1 }); resolver.setServers([process.argv[1]]);
        const fails = (work) => work.then(() => false, () => true);
        const send = new Promise((resolve) => udp.send("within", process.argv[1].split(":")[1], "127.0.0.1", () => udp.close(resolve)));
        Promise.all([fails(dns.lookup("example.com")), fails(dns.resolve4("example.com")), fails(resolver.resolve4("a.test")), send])
          .then((all) => console.log(all.slice(0, 3).join()));`;
      const argv = nodeProgram(code, `127.0.0.1:${portOf(udp)}`);
      expect(await inside(argv, { network: ["example.com"] })).toBe("true,true,true\n");
      const arrived = once(udp, "message");
      udp.send("without", portOf(udp), "127.0.0.1");
      await arrived;
      expect(received).toEqual(["without"]);
    });

    it("has no other route and no other proxy", async () => {
      const before = process.env.HTTPS_PROXY;
      process.env.HTTPS_PROXY = `http://${CANARY}@proxy.test:8080`;
      try {
        const code = `console.log(JSON.stringify(process.env), Object.keys(require("node:os").networkInterfaces()).join())`;
        const [env = "", interfaces] = (await inside(nodeProgram(code), { network: [here] })).trim().split(/ (?=\w*$)/);
        expect(env).not.toContain(CANARY);
        expect(interfaces).toBe("lo");
        const { HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, http_proxy, https_proxy, all_proxy, no_proxy } =
          JSON.parse(env);
        const proxies = [HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, http_proxy, https_proxy, all_proxy];
        expect(new Set(proxies)).toEqual(new Set(["http://127.0.0.1:3128"]));
        expect([NO_PROXY, no_proxy]).toEqual(["", ""]);
      } finally {
        if (before === undefined) delete process.env.HTTPS_PROXY;
        else process.env.HTTPS_PROXY = before;
      }
    });

    it.each([
      ["its end", "process.exit(3)", { ended: "exit", code: 3 }],
      ["a signal", 'process.kill(process.pid, "SIGKILL")', { ended: "exit", code: undefined }],
      ["an abort", "undefined", { ended: "aborted" }],
    ] as const)("keeps no connection beyond %s", async (_what, last, expected) => {
      const place = `127.0.0.1:${portOf(silent)}`;
      const code = `const { hostname, port } = new URL(process.env.HTTP_PROXY);
        require("node:http").request({ hostname, port, method: "CONNECT", path: "${place}" })
          .on("connect", () => ${last}).end(); setInterval(() => undefined, 1000);`;
      const controller = new AbortController();
      const closed = once(silent, "connection").then(([socket]) => {
        if (expected.ended === "aborted") controller.abort();
        return new Promise((resolve) => socket.resume().once("close", resolve));
      });
      const { signal } = controller;
      expect(await run({ argv: nodeProgram(code), network: [place], signal })).toMatchObject(expected);
      await closed;
    });

    it("opens a thousand connections without blocking others", async () => {
      const code = `const net = require("node:net"); const { hostname: host, port } = new URL(process.env.HTTP_PROXY); let left = 1000;
        for (let i = 0; i < 1000; i++) net.connect({ host, port }).on("connect", () => --left === 0 && process.exit(5)).on("error", () => undefined)
          .write("GET http://");`;
      const ended = await run({ argv: nodeProgram(code), network: [here] });
      expect(ended).toMatchObject({ ended: "exit", code: 5 });
      expect(await asking([here], `http://${here}/a`)).toEqual({ told: ["200 told /a"], stderr: "" });
    });

    it("exits as it would without a proxy", async () => {
      const network = [here];
      expect(await run({ argv: ["sh", "-c", "cat; echo err >&2; exit 7"], stdin: "in", network })).toMatchObject({
        code: 7,
        stdout: "in",
        stderr: "err\n",
      });
      await expect(run({ argv: ["no-such-program"], network })).rejects.toMatchObject({ code: "sandbox.failed" });
      const limits = { wallMs: 20_000, outputBytes: 1000, processes: 1 };
      expect(await run({ argv: ["true"], network, limits })).toMatchObject({ ended: "exit", code: 0 });
    });

    it("is not available for an empty list, and an invalid host name is refused", async () => {
      const code = "console.log(process.env.HTTP_PROXY)";
      expect(await inside(nodeProgram(code), { network: [] })).toBe("undefined\n");
      await expect(run({ argv: ["true"], network: ["*"] })).rejects.toMatchObject({ code: "sandbox.failed" });
    });
  });

  describe("the files of this machine", () => {
    const READ = `const at = require("node:fs"); console.log(JSON.stringify(process.argv.slice(1).filter((path) => {
      try { at.closeSync(at.openSync(path, at.constants.O_RDONLY | at.constants.O_NONBLOCK)); return true; } catch { return false; } })))`;

    it("are not visible", async () => {
      const secret = join(folder, "secret");
      writeFileSync(secret, CANARY);
      const home = process.env.HOME ?? "/root";
      const paths = [
        ...[
          "/etc/shadow",
          "/etc/hostname",
          "/root",
          "/home",
          home,
          "/var",
          "/run",
          "/var/run/docker.sock",
          "/sys",
          "/boot",
        ],
        ...["/run/docker.sock", "/proc/1/root/etc", "/proc/1/cwd/etc", "/oldroot", "/old", "/etc/ssl/private", "/mnt"],
        ...[secret, REPOSITORY, join(REPOSITORY, "package.json"), "/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda"],
      ];
      const readable = JSON.parse(await outside(nodeProgram(READ, ...paths)));
      expect(readable).toEqual(expect.arrayContaining([secret, REPOSITORY, "/var"]));
      const seen = JSON.parse(await inside(nodeProgram(READ, ...paths)));
      // A root of its own has an /etc; this machine's has more in it.
      expect(seen.filter((path: string) => !path.startsWith("/proc/1/"))).toEqual([]);
      expect(
        (await inside(["sh", "-c", "ls /; ls /etc; ls -A /tmp /home 2>/dev/null; true"])).split("\n"),
      ).not.toContain("shadow");
    });

    it("are not visible through links that lead there, also within a mount", async () => {
      const secret = mkdtempSync(join(tmpdir(), "skillflow-test-"));
      writeFileSync(join(secret, "secret"), CANARY);
      symlinkSync(join(secret, "secret"), join(folder, "direct"));
      symlinkSync(secret, join(folder, "around"));
      symlinkSync("../../../../../etc/shadow", join(folder, "up"));
      const links = (at: string) => [join(at, "direct"), join(at, "around/secret"), join(at, "up")];
      const escapes = `const fs = require("node:fs"); try { fs.symlinkSync("${secret}", "/workspace/made") } catch {}; ${READ}`;
      try {
        expect(JSON.parse(await outside(nodeProgram(READ, ...links(folder))))).toContain(join(folder, "direct"));
        const argv = nodeProgram(escapes, ...links("/workspace"), "/workspace/made/secret");
        expect(JSON.parse(await inside(argv, { mounts: [shown("/workspace", true)] }))).toEqual([]);
      } finally {
        rmSync(secret, { recursive: true });
      }
    });

    it("cannot be written to: neither the system's, nor read-only mounts", async () => {
      writeFileSync(join(folder, "file"), "as it was");
      chmodSync(join(folder, "file"), 0o666);
      chmodSync(folder, 0o777);
      const code = `const fs = require("node:fs"); const at = process.argv[1]; const done = [];
        const tried = {
          write: () => fs.writeFileSync(at + "/file", "changed"), create: () => fs.writeFileSync(at + "/more", ""),
          remove: () => fs.unlinkSync(at + "/file"), chmod: () => fs.chmodSync(at + "/file", 0o777),
          folder: () => fs.mkdirSync(at + "/folder"), rename: () => fs.renameSync(at, at + "2"),
        };
        for (const [what, attempt] of Object.entries(tried)) try { attempt(); done.push(what) } catch {}
        for (const path of ["/x", "/usr/x", "/usr/bin/x", "/etc/x", "/etc/passwd", "/dev/x", "/bin/x", "/skills/x", "/proc/x"])
          try { fs.writeFileSync(path, "") ; done.push(path) } catch {}
        console.log(JSON.stringify(done));`;
      expect(JSON.parse(await inside(nodeProgram(code, "/skills/a"), { mounts: [shown("/skills/a", false)] }))).toEqual(
        [],
      );
      expect([readdirSync(folder), readFileSync(join(folder, "file"), "utf8")]).toEqual([["file"], "as it was"]);
      const able = JSON.parse(await inside(nodeProgram(code, "/workspace"), { mounts: [shown("/workspace", true)] }));
      expect(able).toEqual(expect.arrayContaining(["write", "create", "remove", "folder"]));
    });

    it("cannot be requested by arguments that look like the launcher's own", async () => {
      for (const first of ["--bind", "--", "-", "--share-net", "A=B"]) {
        await expect(run({ argv: [first, "/", "/tmp/host", "/bin/sh"] })).rejects.toMatchObject({
          code: "sandbox.failed",
        });
      }
      const cwd = "--bind";
      await expect(run({ argv: ["true"], cwd })).rejects.toMatchObject({ code: "sandbox.failed" });
    });

    it.each(spreadOf(["/", "/proc", "/proc/sys", "/dev", "/sys", "/etc", "/usr", "/usr/bin/", "/tmp"], 4))(
      "do not replace what the program sees as %s",
      async (target) => {
        const mounts = [{ source: folder, target, writable: true }];
        await expect(run({ argv: ["true"], mounts })).rejects.toMatchObject({ code: "sandbox.failed" });
      },
    );

    it("are mounted under any name, and names are treated as plain text", async () => {
      const target = '/skills/it\'s "a" $(id) `id` \\040 \\n ; name\nof * two lines';
      writeFileSync(join(folder, "file"), "found");
      chmodSync(folder, 0o755);
      const code = `const fs = require("node:fs"); const at = process.argv[1]; let held = false;
        try { fs.writeFileSync(at + "/new", "") } catch { held = true }
        console.log(fs.readFileSync(at + "/file", "utf8"), held, fs.readdirSync("/skills").length);`;
      expect(await inside(nodeProgram(code, target), { mounts: [shown(target, false)] })).toBe("found true 1\n");
    });

    it("are not replaced by a link that an earlier program left", async () => {
      mkdirSync(join(folder, "real"));
      symlinkSync("/etc", join(folder, "blobs"));
      const around = { source: folder, target: "/workspace", writable: true };
      const within = { source: REPOSITORY, target: "/workspace/blobs", writable: false };
      await expect(run({ argv: ["true"], mounts: [around, within] })).rejects.toMatchObject({ code: "sandbox.failed" });
      const mounts = [around, { ...within, target: "/workspace/real" }];
      expect(await inside(["ls", "/workspace/real"], { mounts })).toContain("package.json");
    });
  });

  describe("the environment and other processes", () => {
    const ENVIRONS = `const fs = require("node:fs"); const texts = [];
      for (const pid of fs.readdirSync("/proc")) for (const file of ["environ", "cmdline"])
        try { texts.push(fs.readFileSync("/proc/" + pid + "/" + file, "latin1")) } catch {}
      console.log(texts.join("\\n").includes(process.argv.slice(1).join("-")))`;
    const [canary, number] = [CANARY.slice(0, 6), CANARY.slice(7)];

    it("hold no secret of the process that starts the sandbox", async () => {
      const holder = spawn("node", ["-e", "console.log(1); setInterval(() => undefined, 1000)"], {
        env: { ...process.env, HELD: CANARY },
      });
      process.env.CANARY_OF_THE_TEST = CANARY;
      try {
        await once(holder.stdout, "data");
        expect(await outside(nodeProgram(ENVIRONS, canary, number))).toBe("true\n");
        expect(await inside(nodeProgram(ENVIRONS, canary, number))).toBe("false\n");
      } finally {
        delete process.env.CANARY_OF_THE_TEST;
        holder.kill("SIGKILL");
      }
    });

    it("show none of the program's own secrets to other users of this machine", async () => {
      const lines: string[] = [];
      const mounts = [shown("/workspace", true)];
      const code = `const fs = require("node:fs"); fs.writeFileSync("/workspace/up", "");
        const timer = setInterval(() => { if (fs.existsSync("/workspace/seen")) { clearInterval(timer); console.log(process.env.TOKEN) } }, 5)`;
      const ended = inside(nodeProgram(code), { mounts, env: { TOKEN: CANARY } });
      while (!existsSync(join(folder, "up"))) await setTimeout(2);
      for (const pid of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
        const path = `/proc/${pid}/cmdline`;
        if (existsSync(path)) lines.push(spawnSync("cat", [path], { encoding: "utf8" }).stdout);
      }
      writeFileSync(join(folder, "seen"), "");
      expect(await ended).toBe(`${CANARY}\n`);
      expect(lines.some((line) => line.includes("/workspace/up"))).toBe(true);
      expect(lines.some((line) => line.includes(CANARY))).toBe(false);
    });

    it("cannot be signalled, including the parents", async () => {
      const victim = spawn("node", ["-e", "console.log(1); setInterval(() => undefined, 1000)"]);
      try {
        await once(victim.stdout, "data");
        const code = `const own = new Set(require("node:fs").readdirSync("/proc/self/task").map(Number));
          for (const pid of [...Array(70000).keys()].slice(1).concat(process.ppid)) if (!own.has(pid))
            try { process.kill(pid, "SIGKILL") } catch {}
          console.log("survived")`;
        expect(await inside(nodeProgram(code))).toBe("survived\n");
        expect([victim.exitCode, victim.signalCode]).toEqual([null, null]);
      } finally {
        victim.kill("SIGKILL");
      }
      await once(victim, "exit");
      expect(victim.signalCode).toBe("SIGKILL");
    });

    it.skipIf(!hasPython)("cannot be traced", async () => {
      const victim = spawn("node", ["-e", "console.log(1); setInterval(() => undefined, 1000)"]);
      await once(victim.stdout, "data");
      const code = `
import ctypes, os, sys
libc = ctypes.CDLL(None)
own = set(int(pid) for pid in os.listdir("/proc") if pid.isdigit()) | set(int(task) for task in os.listdir("/proc/self/task"))
print([pid for pid in range(2, 70000) if pid not in own and libc.ptrace(16, pid, 0, 0) == 0])
`;
      try {
        expect(await inside(python(code))).toBe("[]\n");
        const control = `import ctypes, sys; print(ctypes.CDLL(None).ptrace(16, int(sys.argv[1]), 0, 0))`;
        if (isRoot) expect(await outside(python(control, `${victim.pid}`))).toBe("0\n");
      } finally {
        victim.kill("SIGKILL");
      }
    });

    it("are fewer than twelve processes", async () => {
      const count = Number(await inside(["sh", "-c", "ls -d /proc/[0-9]* | wc -l"]));
      expect(count).toBeLessThan(12);
    });

    it("offer no writable kernel setting", async () => {
      const paths = [
        ...[
          "/proc/sys/kernel/core_pattern",
          "/proc/sys/kernel/hostname",
          "/proc/sys/vm/drop_caches",
          "/proc/sysrq-trigger",
        ],
        ...[
          "/proc/sys/user/max_user_namespaces",
          "/proc/sys/net/ipv4/ip_forward",
          "/proc/1/oom_score_adj",
          "/proc/kcore",
        ],
        ...["/sys/kernel/uevent_helper", "/sys/fs/cgroup", "/proc/self/uid_map", "/proc/self/setgroups"],
      ];
      const code = `const fs = require("node:fs"); console.log(JSON.stringify(process.argv.slice(1).filter((path) => {
        try { fs.closeSync(fs.openSync(path, fs.constants.O_WRONLY)); return true } catch { return false } })))`;
      if (isRoot) {
        const open = JSON.parse(await outside(nodeProgram(code, ...paths)));
        expect(open).toContain("/proc/sys/kernel/core_pattern");
      }
      const writes = `const fs = require("node:fs"); const done = [];
        for (const [path, text] of [["/proc/self/uid_map", "0 0 1"], ["/proc/self/setgroups", "allow"], ["/proc/1/oom_score_adj", "-1000"], ["/proc/self/oom_score_adj", "-1000"]])
          try { fs.writeFileSync(path, text); done.push(path) } catch {}
        console.log(JSON.stringify(done))`;
      expect(JSON.parse(await inside(nodeProgram(writes)))).toEqual([]);
      const own = ["/proc/self/uid_map", "/proc/self/setgroups", "/proc/1/oom_score_adj"]; // opened, but not written to
      const open = JSON.parse(await inside(nodeProgram(code, ...paths)));
      expect(open.filter((path: string) => !own.includes(path))).toEqual([]);
    });

    it.skipIf(!hasPython)("have no terminal to type into", async () => {
      const code = `
import fcntl, os, termios
done = []
for fd in (0, 1, 2):
  try: fcntl.ioctl(fd, termios.TIOCSTI, b"x"); done.append(fd)
  except OSError: pass
for path in ("/dev/tty", "/dev/console", "/dev/tty0"):
  try: os.open(path, os.O_RDWR); done.append(path)
  except OSError: pass
print(done)
`;
      expect(await inside(python(code))).toBe("[]\n");
    });
  });

  describe("the limits", () => {
    const limited = (limits: Partial<ForeignCommand["limits"]>) => ({
      limits: { wallMs: 25_000, outputBytes: 10_000, ...limits },
    });
    const cmdlines = () =>
      readdirSync("/proc").flatMap((pid) => {
        try {
          return [readFileSync(`/proc/${pid}/cmdline`, "latin1")];
        } catch {
          return [];
        }
      });

    it("stop a fork bomb and all of its processes", async () => {
      const argv = ["sh", "-c", BOMB, `${CANARY}-bomb`] as const;
      const ended = await run({ argv, ...limited({ processes: 20 }) });
      expect(whatEndedBomb(ended)).toBe("processes");
      expect(cmdlines().filter((line) => line.includes(`${CANARY}-bomb`))).toEqual([]);
    });

    it("allow as many processes as they name", async () => {
      const argv = ["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 0.2 & done; wait; echo all"] as const;
      expect(await inside(argv, limited({ processes: 10 }))).toBe("all\n");
    });

    it("stop a memory bomb", async () => {
      const code = "const all = []; for (;;) all.push(Buffer.alloc(1e7, 1));";
      expect(await run({ argv: nodeProgram(code), ...limited({ memoryBytes: 300e6 }) })).toMatchObject({
        ended: "memory",
      });
    });

    it.skipIf(!hasPython).each([
      ["one process", "x = []\nwhile True: x.append(bytearray(10_000_000))"],
      [
        "many that are small",
        "import os, time\nfor i in range(8): os.fork() or (globals().update(x=bytearray(80_000_000)), time.sleep(20), os._exit(0))\ntime.sleep(20)",
      ],
      [
        "memory that they share",
        "import mmap, time\nm = mmap.mmap(-1, 900_000_000)\nfor i in range(0, 900_000_000, 4096): m[i] = 1\ntime.sleep(20)",
      ],
    ])("stop a memory bomb of %s", async (_what, code) => {
      const ended = await run({ argv: python(code), ...limited({ memoryBytes: 300_000_000 }) });
      expect(ended).toMatchObject({ ended: "memory" });
    });

    it("let Node run in the memory that they allow", async () => {
      const code = `require("node:zlib").gzipSync(Buffer.alloc(1e7)); console.log("fine")`;
      expect(
        await inside(nodeProgram(code), limited({ memoryBytes: 256e6, processes: 4, cpuSeconds: 10, fileBytes: 1e6 })),
      ).toBe("fine\n");
    });

    it.each(sliceOf(["/tmp", "/dev/shm", "/tmp/home"], 2))("apply to %s, which is small", async (place) => {
      const code = `const fs = require("node:fs"); const block = Buffer.alloc(1e6); let written = 0;
        try { for (let i = 0; i < 2000; i++) { fs.writeFileSync("${place}/f" + i, block); written++ } } catch (error) { console.log(error.code, written < 300) }`;
      expect(await inside(nodeProgram(code))).toBe("ENOSPC true\n");
    });

    it.skipIf(!countsWrites())("stop a program that fills the disk with files, also from child processes", async () => {
      const fill = `const fs = require("node:fs"); const block = Buffer.alloc(1e6);
        for (let i = 0; i < 50; i++) { const to = fs.openSync("/workspace/" + process.argv[1] + "-" + i, "w"); fs.writeSync(to, block); fs.closeSync(to); }`;
      const code = `for (let i = 0; i < 8; i++) require("node:child_process").spawnSync("node", ["-e", ${JSON.stringify(fill)}, "--", String(i)]);
        setInterval(() => undefined, 1000)`;
      const parts = { mounts: [shown("/workspace", true)], ...limited({ diskBytes: 70_000_000 }) };
      expect(await run({ argv: nodeProgram(code), ...parts })).toMatchObject({ ended: "disk", code: undefined });
      expect(readdirSync(folder).length).toBeGreaterThan(50);
      expect(readdirSync(folder).length).toBeLessThan(400);
    });

    it.skipIf(!countsWrites() || !hasPython)(
      "stop a program that fills the disk from processes that it does not wait for",
      async () => {
        const code = `
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
block = b"x" * 4_000_000
for i in range(200):
  if os.fork() == 0:
    os.write(os.open("/workspace/%d" % i, os.O_WRONLY | os.O_CREAT), block)
    os._exit(0)
  try: os.wait()
  except OSError: pass
time.sleep(20)
`;

        const parts = { mounts: [shown("/workspace", true)], ...limited({ diskBytes: 70_000_000 }) };
        expect(await run({ argv: python(code), ...parts })).toMatchObject({ ended: "disk", code: undefined });
      },
    );

    it("apply to the size of a file", async () => {
      const code = `process.on("SIGXFSZ", () => undefined); const fs = require("node:fs");
        try { fs.writeFileSync("/workspace/big", Buffer.alloc(3e6)) } catch (error) { console.log(error.code) }`;
      const parts = { mounts: [shown("/workspace", true)], ...limited({ fileBytes: 1_000_000 }) };
      await run({ argv: nodeProgram(code), ...parts });
      expect(statSync(join(folder, "big")).size).toBeLessThanOrEqual(1_000_000);
    });

    it("stop a loop that only uses the processor", async () => {
      const ended = await run({ argv: ["sh", "-c", "while :; do :; done"], ...limited({ cpuSeconds: 1 }) });
      expect(ended).toMatchObject({ ended: "time", code: undefined });
    });
  });

  describe("afterwards", () => {
    it("nothing remains for the next program", async () => {
      const places = ["/tmp", "/dev/shm", "/tmp/home"];
      const write = `for (const at of process.argv.slice(1)) require("node:fs").writeFileSync(at + "/left", ""); console.log("wrote")`;
      const look = `console.log(JSON.stringify(process.argv.slice(1).flatMap((at) => require("node:fs").readdirSync(at))))`;
      expect(await inside(nodeProgram(write, ...places))).toBe("wrote\n");
      expect(JSON.parse(await inside(nodeProgram(look, ...places)))).toEqual(["home"]);
    });

    it("nothing remains if this process is killed during a run", async () => {
      const fifo = makeFifo(folder);
      const argv = [ORPHAN, sandbox.name, folder];
      const launcher = spawn("node", argv, { cwd: REPOSITORY, stdio: "inherit" });
      expect(await fifo.next()).toBe("up");
      launcher.kill("SIGKILL");
      await once(launcher, "exit");
      // The kernel notifies the launcher of our end, and the launcher the others. The pipe is released sooner or later.
      await fifo.released();
    });

    it("no temporary folder remains on this machine", async () => {
      const mounts = await inside(["cat", "/proc/self/mountinfo"], { mounts: [shown("/workspace", true)] });
      const [ours = ""] = /skillflow-box-[^/]+(?=\/passwd )/.exec(mounts) ?? [];
      expect(ours).not.toBe("");
      expect([join("/tmp", ours), join(tmpdir(), ours)].filter((path) => existsSync(path))).toEqual([]);
    });
  });

  describe.skipIf(!isRoot)("as root", () => {
    const whoWrites = nodeProgram(`require("node:fs").writeFileSync("/workspace/made", "")`);
    const made = () => statSync(join(folder, "made")).uid;

    it("is another user to the kernel, which owns a folder made for it", async () => {
      await inside(whoWrites, { mounts: [shown("/workspace", true)] });
      expect(made()).not.toBe(0);
    });

    it("owns the folder that it works in", async () => {
      chownSync(folder, 4321, 4321);
      await inside(whoWrites, { mounts: [shown("/workspace", true, false)] });
      expect(made()).toBe(4321);
    });

    it("leaves the ownership of the operator's folder unchanged", async () => {
      await inside(whoWrites, { mounts: [shown("/workspace", true, false)] });
      expect([made(), statSync(folder).uid]).toEqual([0, 0]);
    });

    it("sees a mount behind a closed folder, and still ends if it forks too often", async () => {
      const closed = join(folder, "closed");
      mkdirSync(join(closed, "skill"), { recursive: true });
      writeFileSync(join(closed, "skill", "file"), "found");
      chmodSync(closed, 0o700);
      const mounts = [{ source: join(closed, "skill"), target: "/skills/a", writable: false }];
      expect(await inside(["cat", "/skills/a/file"], { mounts })).toBe("found");
      chmodSync(join(closed, "skill", "file"), 0o600);
      expect(await inside(["cat", "/skills/a/file"], { mounts })).toBe("found");
      const limits = { wallMs: 25_000, outputBytes: 10_000, processes: 20 };
      const ended = await run({ argv: ["sh", "-c", BOMB], mounts, limits });
      expect(whatEndedBomb(ended)).toBe("processes");
    });
  });
}
