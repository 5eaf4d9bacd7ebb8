import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createProxy } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Json, JsonObject, ToolContext } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import kubernetes from "../../skills/kubernetes/skill.ts";
import { describeFaults } from "../contracts/faults.ts";
import { callTool, describeSkill, failureOf, fits } from "../contracts/skill.ts";
import { flood, LOG, startKubernetes, TOKEN } from "../services/kubernetes.ts";
import { forwarding, type RestService, type Script } from "../services/rest.ts";

const POD = { pod: "checkout-7d9f-abcde", namespace: "shop" };

/** One good input for every tool. */
const INPUTS: Readonly<Record<string, JsonObject>> = {
  list_pods: { namespace: "*", selector: "app in (checkout,cart)" },
  get_pod: POD,
  get_logs: { ...POD, previous: true, since_minutes: 10, container: "app" },
  list_events: { namespace: "shop", object: "checkout-7d9f-abcde" },
  list_workloads: { namespace: "shop" },
  rollout_history: { deployment: "checkout", namespace: "shop" },
  list_nodes: {},
  search_logs: { ...POD, contains: "error" },
  top_pods: { namespace: "shop", selector: "app" },
  top_nodes: {},
  list_kinds: { contains: "argoproj" },
  list_objects: { kind: "applications.argoproj.io", namespace: "*" },
  get_object: { kind: "Application", name: "checkout", namespace: "argocd" },
  list_helm_releases: { namespace: "shop" },
};
const NAMES = kubernetes.tools.map((tool) => tool.name);

let service: RestService;
const folder = mkdtempSync(join(tmpdir(), "skillflow-kube-"));
afterEach(() => service?.close());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function configFor(url: string): Record<string, string> {
  return { KUBERNETES_URL: url, KUBERNETES_TOKEN: TOKEN };
}

async function start(script?: Script): Promise<ToolContext> {
  service = await startKubernetes(script);
  return toolContext({ config: configFor(service.url) });
}

function call(name: string, context: ToolContext, input: JsonObject = INPUTS[name] ?? {}): Promise<JsonObject> {
  return callTool(kubernetes, name, input, context) as Promise<JsonObject>;
}

describe("every kubernetes tool, against the published contract", () => {
  it.each(NAMES)("%s sends what the contract allows and returns what a model needs", async (name) => {
    const context = await start(({ operation }) => (operation === "log" ? { text: LOG } : undefined));
    const result = await call(name, context);
    expect(service.refusals).toEqual([]);
    expect(service.requests.every(({ method }) => method === "GET")).toBe(true);
    expect(JSON.stringify(result)).not.toMatch(/of-the-(pod|app)/);
    expect(result).toMatchSnapshot();
  });

  it("looks where it is told, and says that it found nothing there", async () => {
    const context = await start(({ operation }) =>
      operation === "deployment" ? undefined : { body: { metadata: {}, items: null } },
    );
    expect(await call("list_pods", context, {})).toMatchObject({
      pods: [],
      note: expect.stringContaining("No pod in default"),
    });
    expect(service.requests[0]?.url).toMatch("/api/v1/namespaces/default/pods?");
    expect(await call("list_events", context, { namespace: "*" })).toMatchObject({
      note: expect.stringContaining("not kept"),
    });
    expect(await call("rollout_history", context)).toMatchObject({ note: expect.stringContaining("no revision") });
    await expect(call("get_pod", context, { pod: "a", namespace: "*" })).rejects.toThrow(/Give the namespace/);
  });

  it("says when it did not look at everything", async () => {
    const context = await start(({ example }) => {
      return { body: { ...(example as JsonObject), metadata: { continue: "abc", remainingItemCount: 700 } } };
    });
    for (const name of ["list_pods", "list_events", "list_workloads", "list_nodes"])
      expect((await call(name, context))["note"]).toMatch(/first 1500 by name were checked, 700 were not/);
  });

  it("reads the pages of a list, whose newest event may be on the last", async () => {
    const event = (at: string) => ({
      metadata: {},
      involvedObject: { kind: "Pod", name: "a" },
      lastTimestamp: at,
    });
    const context = await start(({ operation, query }) => {
      if (operation !== "events") return undefined;
      return query["continue"] === "more"
        ? { body: { metadata: {}, items: [event("2026-01-31T08:06:00Z")] } }
        : {
            body: {
              metadata: { continue: "more" },
              items: ["04:00Z", "05:00.5Z", "05:00Z"].map((at) => event(`2026-01-31T08:${at}`)),
            },
          };
    });
    const { events, note } = await call("list_events", context, {});
    expect(note).toBeUndefined();
    expect((events as { at: string }[]).map(({ at }) => at.slice(14))).toEqual([
      "06:00Z",
      "05:00.5Z",
      "05:00Z",
      "04:00Z",
    ]);
  });

  it("counts no pod as available that is ready for too short a time", async () => {
    const context = await start(({ operation, example }) => {
      const [one] = (example as { items: { status: JsonObject }[] }).items ?? [];
      const status = { observedGeneration: 5, readyReplicas: 3, updatedReplicas: 3 };
      return operation === "workloads" ? { body: { items: [{ ...one, status }] } } : undefined;
    });
    expect(await call("list_workloads", context)).toMatchObject({ workloads: [{ available: 0, lacking: true }] });
  });

  it("finds a pod unwell whose containers are ready and which is not, such as that of a lost node", async () => {
    const lost = {
      metadata: { name: "cart-2", namespace: "shop" },
      spec: {
        containers: [{ name: "app" }],
        initContainers: [{ name: "proxy", restartPolicy: "Always" }, { name: "migrate" }],
      },
      status: {
        phase: "Running",
        conditions: [{ type: "Ready", status: "False" }],
        containerStatuses: [{ name: "app", ready: true, restartCount: 0 }],
        initContainerStatuses: [
          { name: "proxy", ready: true, restartCount: 0 },
          { name: "migrate", ready: true, restartCount: 0 },
        ],
      },
    };
    const context = await start(({ operation }) => (operation === "pods" ? { body: { items: [lost] } } : undefined));
    expect(await call("list_pods", context)).toMatchObject({ unwell: 1, pods: [{ ready: "2/2", unwell: true }] });
  });

  it("shows the newest lines where a log is long, and tells an empty one from one without the word", async () => {
    const long = await start(() => ({
      text: Array.from({ length: 500 }, (_, n) => `${n} ${"x".repeat(200)}`).join("\n"),
    }));
    const result = await call("get_logs", long, { ...POD, lines: 500 });
    expect((result["lines"] as string[]).at(-1)).toMatch(/^499 /);
    expect(result).toMatchObject({
      lines_read: 500,
      left_out: expect.any(Number),
      note: expect.stringContaining("older lines"),
    });
    expect(await call("get_logs", long, { ...POD, contains: "nothing" })).toMatchObject({
      lines: [],
      note: "None of the last 500 lines contains it.",
    });
    await service.close();
    expect(await call("get_logs", await start(() => ({ text: "" })))).toMatchObject({
      note: expect.stringContaining("log is empty"),
    });
  });

  it("reads the logs of all containers side by side, and says which of them have none", async () => {
    const logs: Record<string, string> = {
      app: "2026-01-31T08:04:58Z first\n2026-01-31T08:05:02Z ERROR third\n",
      proxy: "2026-01-31T08:05:01Z error second\n",
    };
    const answer: Script = ({ operation, query, example, path }) => {
      if (operation === "pods") return { body: { items: [(example as { items: Json[] }).items.at(-1) ?? null] } };
      if (query["previous"] && query["container"] === "proxy")
        return { status: 400, body: { message: 'previous terminated container "proxy" in pod not found' } };
      return operation === "log"
        ? { text: path.includes("checkout") ? (logs[query["container"] ?? ""] ?? "") : "" }
        : undefined;
    };
    const context = await start(answer);
    const found = await call("search_logs", context, { ...POD, contains: "error" });
    expect(found["lines"]).toEqual([
      "proxy: 2026-01-31T08:05:01Z error second",
      "app: 2026-01-31T08:05:02Z ERROR third",
    ]);
    expect(new URL(service.requests[0]?.url ?? "", service.url).searchParams.get("fieldSelector")).toBe(
      `metadata.name=${POD.pod}`,
    );
    const before = await call("search_logs", context, { namespace: "shop", selector: "app", previous: true });
    expect(before["sources"]).toMatchObject([
      { lines_read: 2 },
      { note: expect.stringMatching(/^previous terminated/) },
    ]);
    await expect(call("search_logs", context, { namespace: "shop" })).rejects.toThrow(/either a pod or a selector/);
  });

  it("orders log lines of nodes with different time zones, and shows the logs beside one that cannot be read", async () => {
    const logs: Record<string, string> = {
      app: "2026-01-31T08:05:02Z second\n2026-01-31T08:05:02.000000002Z fourth\n",
      proxy: "2026-01-31T10:05:01.5+02:00 first\n2026-01-31T10:05:02.000000001+02:00 third\n",
    };
    const context = await start(({ operation, query, example, path }) => {
      if (operation === "pods") return { body: { items: (example as { items: Json[] }).items } };
      if (path.includes("cart-1"))
        return {
          status: 500,
          body: { message: "dial tcp 10.0.0.1:10250: i/o timeout" },
          headers: { "retry-after": "0" },
        };
      return operation === "log" ? { text: logs[query["container"] ?? ""] ?? "" } : undefined;
    });
    const found = await call("search_logs", context, { namespace: "shop", selector: "app" });
    expect((found["lines"] as string[]).map((line) => line.split(" ").at(-1))).toEqual([
      ...["first", "second", "third", "fourth"],
    ]);
    expect(found).toMatchObject({
      sources: [{ note: expect.stringContaining("i/o timeout") }, { lines_read: 2 }, { lines_read: 2 }],
      note: "1 of 3 logs could not be read: see `sources`.",
    });
  });

  it("tells that there is no metrics server, and shows nodes whose sizes it may not read", async () => {
    const context = await start(({ operation }) =>
      operation === "podMetrics"
        ? { status: 404, body: { message: "the server could not find the requested resource" } }
        : undefined,
    );
    await expect(call("top_pods", context)).rejects.toThrow(/has no metrics server. If you have the skill prometheus/);
    await service.close();
    const unsized = await start(({ operation }) => (operation === "nodes" ? { status: 403, body: {} } : undefined));
    expect(await call("top_nodes", unsized)).toMatchObject({
      nodes: [{ name: "node-1", cpu: "3528m", memory: "14746Mi" }],
      note: expect.stringContaining("permission to list nodes"),
    });
  });

  it("finds a kind by any of its names, and says which others are called so and which it does not know", async () => {
    const context = await start();
    for (const kind of ["Job", "jobs", "jobs.batch", "job.v1.batch"])
      expect(await call("get_object", context, { kind, name: "migrate", namespace: "shop" })).toMatchObject({
        kind: "jobs.batch",
      });
    await expect(call("list_objects", context, { kind: "bindings" })).rejects.toThrow(
      /has no kind bindings\. .*metrics\.k8s\.io\/v1beta1/,
    );
    await expect(call("get_object", context, { kind: "Job", name: "a", namespace: "*" })).rejects.toThrow(
      /Give the namespace/,
    );
    expect(await call("get_object", context, { ...INPUTS["get_object"], part: "status.sync" })).toMatchObject({
      object: "status: OutOfSync\nrevision: 4f2c1e0\n",
    });
    await expect(call("get_object", context, { ...INPUTS["get_object"], part: "spec.a" })).rejects.toThrow(
      /has no spec\.a/,
    );
    expect((await call("list_kinds", context, { contains: "event" }))["kinds"]).toHaveLength(2);
  });

  it.each([
    [
      { kind: "Job", name: "migrate", namespace: "shop" },
      /failed: 4[\s\S]*values:\n +- db[\s\S]*--steps[\s\S]*secretKeyRef/,
    ],
    [{ kind: "cm", name: "checkout", namespace: "shop" }, /app\.yml: "?\[not shown: 15 characters\]/],
    [{ kind: "Secret", name: "sh.helm.release.v1.checkout.v5", namespace: "shop" }, /status: failed/],
  ])("shows of %o what it is, and nothing that may be a secret", async (input, shown) => {
    const { object } = await call("get_object", await start(), input);
    expect(object).toMatch(shown);
    expect(object).not.toContain("of-the-app");
    expect(service.refusals).toEqual([]);
  });

  it("is live when pods may be listed", async () => {
    expect(await kubernetes.probe?.(await start())).toBe("can list pods in the namespace default");
  });
});

describe("a kubeconfig file", () => {
  const write = (content: string) => {
    writeFileSync(join(folder, "config"), content);
    return { KUBECONFIG: "config" };
  };
  const kubeconfig = (server: string, user: string) => `apiVersion: v1
kind: Config
current-context: shop
clusters:
  - { name: local, cluster: { server: "${server}" } }
contexts:
  - { name: shop, context: { cluster: local, user: me, namespace: shop } }
  - { name: lost, context: { cluster: gone, user: me } }
users:
  - { name: me, user: ${user} }
`;
  const asking = (config: Record<string, string>) => call("list_pods", toolContext({ config, workDir: folder }), {});

  it("tells where the cluster is, who asks, and in which namespace", async () => {
    await start();
    writeFileSync(join(folder, "token"), `${TOKEN}\n`);
    for (const user of [`{ token: ${TOKEN} }`, "{ tokenFile: token }"]) {
      expect(await asking(write(kubeconfig(service.url, user)))).toMatchObject({ unwell: 1 });
      expect(service.requests.at(-1)?.url).toMatch("/namespaces/shop/pods");
    }
    const config = { ...write(kubeconfig(service.url, "{ exec: { command: touch } }")), KUBERNETES_TOKEN: TOKEN };
    expect(await asking(config)).toMatchObject({ unwell: 1 });
    expect(service.refusals).toEqual([]);
  });

  it("whose user gets a token from a program, or that is wrong, is told in words, without what it holds", async () => {
    const token = "k8scanary-in-file";
    const good = kubeconfig("http://127.0.0.1:1", `{ token: ${token} }`);
    const cases: [Record<string, string>, RegExp][] = [
      [
        write(kubeconfig("http://127.0.0.1:1", "{ exec: { command: aws } }")),
        /from a program, which skillflow does not run. Set KUBERNETES_TOKEN/,
      ],
      [{ KUBECONFIG: "absent" }, /Cannot read a file that KUBECONFIG names \(ENOENT\)/],
      [{}, /Neither KUBECONFIG nor KUBERNETES_URL is set/],
    ];
    for (const [config, words] of cases) await expect(asking(config)).rejects.toThrow(words);
    const broken: [string, Record<string, string>, RegExp][] = [
      [`${good}\n: [${token}`, {}, /is not a kubeconfig/],
      [good, { KUBERNETES_CONTEXT: "other" }, /no context other\. It has: shop, lost/],
      [good, { KUBERNETES_CONTEXT: "lost" }, /names a cluster that does not exist/],
      [good.replace(':1"', ':1", proxy-url: "socks5://localhost:1"'), {}, /must be an http or https address/],
      [good.replace(':1"', ':1", proxy-url: "http://me:%ff@localhost:1"'), {}, /must be an http or https address/],
      [good.replace(':1"', ':1", proxy-url: "http://50%:a@localhost:1"'), {}, /must be an http or https address/],
    ];
    for (const [content, more, words] of broken) {
      const { message } = await failureOf(() => asking({ ...write(content), ...more }));
      expect(message).toMatch(words);
      expect(message).not.toContain(token);
    }
  });

  it("whose cluster has a proxy is asked through it alone", async () => {
    await start();
    const { tunnels, url, close } = await startProxy(service.url);
    const file = kubeconfig("http://cluster.test", `{ token: ${TOKEN} }`).replace(
      'test"',
      `test", proxy-url: "${url}"`,
    );
    expect(await asking(write(file))).toMatchObject({ unwell: 1 });
    expect(tunnels.slice(0, 2)).toEqual(["cluster.test:80", `Basic ${Buffer.from("me:secret").toString("base64")}`]);
    const offline = toolContext({ config: write(file), workDir: folder, offline: true });
    await expect(call("list_pods", offline, {})).rejects.toThrow("cluster.test was not contacted");
    close();
  });

  it("is what the skill wants, an address, or to be in a pod", async () => {
    const outlook = { workDir: folder, texts: [] };
    const lackOf = (config: Record<string, string>) => kubernetes.lacks?.({ ...outlook, config });
    expect(await lackOf({})).toMatchObject({
      kind: "config_missing",
      reason: expect.stringMatching(/^neither KUBECONFIG nor KUBERNETES_URL/),
    });
    expect(await lackOf({ KUBECONFIG: "absent" })).toMatchObject({
      kind: "config_form",
      fix: "correct the file that KUBECONFIG names",
    });
    expect(await lackOf(write(kubeconfig("http://127.0.0.1:1", "{ exec: { command: aws } }")))).toMatchObject({
      kind: "config_form",
      reason: expect.stringContaining("Set KUBERNETES_TOKEN"),
      fix: expect.stringContaining("set KUBERNETES_TOKEN"),
    });
    expect(await lackOf({ KUBERNETES_URL: "https://k8s.example" })).toBeUndefined();
  });
});

const certificate = makeCertificate();

describe.skipIf(certificate === undefined)("a cluster with an authority of its own", () => {
  const serve = async (work: (url: string) => Promise<void>) => {
    const server = createServer({ key: certificate?.key, cert: certificate?.cert }, (_, response) => {
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ metadata: {}, items: [] as Json }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    await work(`https://127.0.0.1:${(server.address() as AddressInfo).port}`).finally(() => server.close());
  };

  it("is asked where its certificate is vouched for, and not otherwise", async () => {
    await serve(async (url) => {
      const config = { ...configFor(url), KUBERNETES_CA: certificate?.cert ?? "" };
      expect(await call("list_pods", toolContext({ config }))).toMatchObject({ pods: [] });
      await expect(call("list_pods", toolContext({ config: configFor(url) }))).rejects.toThrow(
        /did not answer .*SELF_SIGNED/,
      );
    });
  });

  it.each(["a tunnel", "a proxy"])("is asked through %s, by the name on its certificate", async (way) => {
    await serve(async (url) => {
      const proxy = way === "a proxy" ? await startProxy(url) : undefined;
      const ca = Buffer.from(certificate?.cert ?? "").toString("base64");
      const kubeconfig = (name: string) => ({
        "current-context": "a",
        clusters: [
          {
            name: "a",
            cluster: {
              server: url.replace("127.0.0.1", "localhost"),
              "certificate-authority-data": ca,
              "tls-server-name": name,
              ...(proxy ? { "proxy-url": proxy.url } : {}),
            },
          },
        ],
        contexts: [{ name: "a", context: { cluster: "a" } }],
      });
      const ask = (name: string) => {
        writeFileSync(join(folder, "tunnel"), JSON.stringify(kubeconfig(name)));
        return call("list_pods", toolContext({ config: { KUBECONFIG: "tunnel" }, workDir: folder }));
      };
      expect(await ask("k8s.test")).toMatchObject({ pods: [] });
      await expect(ask("other.test")).rejects.toThrow(/ERR_TLS_CERT_ALTNAME_INVALID/);
      expect(proxy?.tunnels[0]).toBe(proxy && new URL(url.replace("127.0.0.1", "localhost")).host);
      proxy?.close();
    });
  });

  it("is not contacted from a run that is offline, wherever it is", async () => {
    const config = { ...configFor("https://k8s.example.invalid"), KUBERNETES_CA: certificate?.cert ?? "" };
    await expect(call("list_pods", toolContext({ config, offline: true }))).rejects.toMatchObject({
      code: "offline.refused",
    });
  });
});

/** A proxy that forwards each tunnel to the target, whatever host it names. */
async function startProxy(target: string) {
  const tunnels: (string | undefined)[] = [];
  const proxy = createProxy().on("connect", (request, socket) => {
    tunnels.push(request.url, request.headers["proxy-authorization"]);
    const far = connect(Number(new URL(target).port), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      far.pipe(socket).pipe(far);
    });
    far.on("error", () => socket.destroy());
    socket.on("error", () => far.destroy());
  });
  await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done));
  const url = `http://me:secret@127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const close = () => {
    proxy.closeAllConnections();
    proxy.close();
  };
  return { tunnels, url, close };
}

/** A certificate for 127.0.0.1, if this machine has openssl. */
function makeCertificate(): { readonly key: string; readonly cert: string } | undefined {
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1,DNS:k8s.test"];
  try {
    execFileSync(
      "openssl",
      [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
        "-keyout",
        key,
        "-out",
        cert,
        ...subject,
      ],
      { stdio: "ignore" },
    );
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  } catch {
    process.stderr.write("Skipping the tests of a cluster with TLS: openssl makes no certificate here.\n");
    return undefined;
  }
}

it.each([
  ["get_pod", { pod: "../../secrets" }],
  ["get_pod", { pod: "a/log" }],
  ["list_pods", { namespace: "a/../../secrets" }],
  ["list_pods", { selector: "a&limit=1" }],
  ["get_logs", { pod: "a", lines: 100_000 }],
  ["list_workloads", { kind: "secrets" }],
  ["get_object", { kind: "pods/log", name: "a" }],
  ["get_object", { kind: "Pod", name: "a/../b" }],
  ["list_objects", { kind: "../secrets" }],
] as const)("%s refuses %o", (name, input) => {
  expect(fits(kubernetes.tools.find((tool) => tool.name === name)?.input_schema, input as JsonObject)).toBe(false);
});

const flooded = await startKubernetes(flood);
afterAll(() => flooded.close());

describeFaults(kubernetes, {
  service: "Kubernetes",
  address: "KUBERNETES_URL",
  keys: ["KUBERNETES_TOKEN"],
  config: configFor,
  inputs: INPUTS,
  texts: ["get_logs"],
});
describeSkill(kubernetes, { config: configFor, inputs: INPUTS, flood: forwarding(flooded) });
