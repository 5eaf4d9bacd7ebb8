import type { Stopped } from "../core/engine/ports.ts";

/** The part of an AbortSignal that listeners need. */
export type Stopping = Stopped;

/** Lightweight abort signal, created for every step and call. Creates an AbortController only on demand. */
export class Stop implements Stopping {
  aborted = false;
  #reason: (() => unknown) | { readonly made: unknown } | undefined;
  #hearers: (() => void)[] = [];
  #controller: AbortController | undefined;

  /** Aborts once. The reason is created only when it is read, because an Error is expensive. */
  abort(reason: () => unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.#reason = reason;
    this.#controller?.abort(this.reason);
    const hearers = this.#hearers;
    this.#hearers = [];
    for (const hear of hearers) hear();
  }

  get reason(): unknown {
    if (typeof this.#reason === "function") this.#reason = { made: this.#reason() };
    return this.#reason?.made;
  }

  addEventListener(_type: "abort", hear: () => void): void {
    this.#hearers.push(hear);
  }

  removeEventListener(_type: "abort", hear: () => void): void {
    const at = this.#hearers.indexOf(hear);
    if (at !== -1) this.#hearers.splice(at, 1);
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.aborted) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }
}

export function signalOf(stopping: Stopping): AbortSignal {
  return stopping instanceof Stop ? stopping.signal : (stopping as AbortSignal);
}

const STOPPING = Symbol("stopping");

/** One getter for all objects, because each getter of its own gives its object a shape of its own. */
const SIGNAL = {
  enumerable: true,
  get(this: { readonly [STOPPING]: Stopping }) {
    return signalOf(this[STOPPING]);
  },
};

/** Adds `signal` to an object. The signal is created only if it is read. */
export function withSignal<Part extends object>(
  part: Part,
  stopping: Stopping,
): Part & { readonly signal: AbortSignal } {
  Object.defineProperty(part, STOPPING, { value: stopping });
  return Object.defineProperty(part, "signal", SIGNAL) as Part & { readonly signal: AbortSignal };
}
