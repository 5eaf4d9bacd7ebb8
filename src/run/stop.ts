import type { Stopped } from "../core/engine/ports.ts";

/** As much of an AbortSignal as those need who only listen. */
export type Stopping = Stopped;

/** What ends work before its time, made for every step and call: an AbortController only where somebody asks for one. */
export class Stop implements Stopping {
  aborted = false;
  #reason: (() => unknown) | { readonly made: unknown } | undefined;
  #hearers: readonly (() => void)[] = [];
  #controller: AbortController | undefined;

  /** The first counts; its reason is made for those who ask for it, as an Error is dear. */
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
    this.#hearers = [...this.#hearers, hear];
  }

  removeEventListener(_type: "abort", hear: () => void): void {
    this.#hearers = this.#hearers.filter((other) => other !== hear);
  }

  /** For programs that know signals. */
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
