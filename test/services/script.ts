import type { ServerResponse } from "node:http";
import type { Json } from "../../src/core/base/values.ts";
import { type LoopbackRequest, sendJson, startLoopback } from "../../src/testing.ts";

/** The answer of a scripted model service to one request, for any API. */
export interface Scripted {
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  /** Sealed reasoning before the rest. The service accepts only its own back. */
  readonly thought?: string;
  /** Default: `end`, or the API's value for tool calls if there are calls. */
  readonly stop?: "end" | "length" | "refusal";
  /** Default: a few tokens. Null reports none. */
  readonly usage?: { readonly input: number; readonly cached: number; readonly output: number } | null;
  /** A failure in the vendor's form, instead of an answer, or after its beginning with `midway`. */
  readonly fault?: FaultName;
  readonly midway?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** One JSON document although a stream was requested. */
  readonly whole?: boolean;
  /** Event after the first piece of text: the connection breaks, the stream ends, or nothing more arrives. */
  readonly cut?: "reset" | "end" | "silence";
  /** A raw answer instead of the API's form. */
  readonly raw?: { readonly type: string; readonly body: string };
  /** No answer: the connection breaks at once, or nothing ever arrives. */
  readonly instead?: "reset" | "silence";
}

export interface ScriptedCall {
  readonly id?: string;
  readonly tool: string;
  readonly input?: Json;
  /** The arguments as sent, instead of `input`. */
  readonly text?: string;
}

export type FaultName =
  | "key"
  | "forbidden"
  | "model"
  | "quota"
  | "rate"
  | "overloaded"
  | "server"
  | "invalid"
  | "too_large"
  | "no_images"
  | "no_shape"
  | "no_reasoning"
  | "no_usage"
  | "no_system";

export interface Fault {
  readonly status: number;
  readonly body: unknown;
}

/** The format of one API on the wire. */
export interface Wire<Body> {
  readonly path: string;
  /** The request, or the reason why the vendor refuses it. */
  readonly check: (body: unknown) => { readonly body: Body } | { readonly refusal: string };
  readonly faults: Readonly<Record<FaultName, Fault>>;
  readonly refuse: (message: string) => Fault;
  readonly hasKey: (request: LoopbackRequest) => boolean;
  readonly whole: (body: Body, answer: Scripted) => unknown;
  /** The lines of the stream, `data:` and all, each one event. The first piece of text is among the `head`. */
  readonly stream: (
    body: Body,
    answer: Scripted,
  ) => { readonly head: readonly string[]; readonly tail: readonly string[] };
  readonly midway: (fault: Fault) => string;
}

export interface ModelService<Body = unknown> {
  /** The base URL to give the adapter. */
  readonly url: string;
  /** The bodies of the requests that the vendor would have accepted. */
  readonly bodies: readonly Body[];
  /** The length of each request's body in bytes. */
  readonly sizes: readonly number[];
  close(): Promise<void>;
}

export type Script<Body> = (body: Body, index: number) => Scripted | Promise<Scripted>;

/** A service of one API that refuses what the vendor refuses, and otherwise answers from the script. */
export async function startService<Body>(
  wire: Wire<Body>,
  base: string,
  script: Script<Body>,
): Promise<ModelService<Body>> {
  const bodies: Body[] = [];
  const sizes: number[] = [];
  const loopback = await startLoopback(async (request, response) => {
    sizes.push(Buffer.byteLength(request.body));
    const send = (fault: Fault) => sendJson(response, fault.status, fault.body);
    if (request.method !== "POST" || request.url !== base + wire.path) {
      return send({ status: 404, body: { error: { message: `no route ${request.method} ${request.url}` } } });
    }
    if (!wire.hasKey(request)) return send(wire.faults.key);
    const checked = wire.check(JSON.parse(request.body));
    if ("refusal" in checked) return send(wire.refuse(checked.refusal));
    bodies.push(checked.body);
    answerWith(wire, checked.body, await script(checked.body, bodies.length - 1), response);
  });
  return { url: loopback.url + base, bodies, sizes, close: loopback.close };
}

function answerWith<Body>(wire: Wire<Body>, body: Body, answer: Scripted, response: ServerResponse): void {
  const fault = answer.fault && wire.faults[answer.fault];
  const headers = answer.headers ?? {};
  if (answer.instead === "reset") response.destroy();
  if (answer.instead !== undefined) return;
  if (answer.raw) {
    response.writeHead(200, { "content-type": answer.raw.type, ...headers });
    response.end(answer.raw.body);
  } else if (fault && !answer.midway) {
    sendJson(response, fault.status, fault.body, headers);
  } else if (answer.whole) {
    sendJson(response, 200, wire.whole(body, answer), headers);
  } else {
    sendStream(response, wire.stream(body, answer), answer, fault && wire.midway(fault));
  }
}

function sendStream(
  response: ServerResponse,
  { head, tail }: { readonly head: readonly string[]; readonly tail: readonly string[] },
  answer: Scripted,
  fault: string | undefined,
): void {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", ...answer.headers });
  const block = (event: string) => `${event}\n\n`;
  const after = () => {
    if (fault !== undefined) response.end(block(fault));
    else if (answer.cut === "reset") response.destroy();
    else if (answer.cut === "end") response.end();
    else if (answer.cut === undefined) response.end(tail.map(block).join(""));
  };
  response.write(head.map(block).join(""), after);
}

/** A text in two pieces, so that a stream has parts to join. */
export function pieces(text: string): readonly string[] {
  const half = Math.ceil(text.length / 2);
  return [text.slice(0, half), text.slice(half)].filter((piece) => piece !== "");
}

export function argumentsOf(call: ScriptedCall): string {
  return call.text ?? JSON.stringify(call.input ?? {});
}

export function usageOf(answer: Scripted): NonNullable<Scripted["usage"]> | null {
  return answer.usage === undefined ? { input: 12, cached: 0, output: 7 } : answer.usage;
}
