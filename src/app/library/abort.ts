/** Callbacks per signal, behind one listener: Node.js reports more than ten listeners as a leak. */
const hearers = new WeakMap<AbortSignal, { readonly all: Set<() => void>; readonly listener: () => void }>();

/** Calls `hear` when the signal is aborted. Returns a function that removes the callback. */
export function onAbort(signal: AbortSignal, hear: () => void): () => void {
  const { all, listener } = hearers.get(signal) ?? listen(signal);
  all.add(hear);
  return () => {
    if (!all.delete(hear) || all.size > 0) return;
    signal.removeEventListener("abort", listener);
    hearers.delete(signal);
  };
}

function listen(signal: AbortSignal) {
  const all = new Set<() => void>();
  const listener = () => {
    for (const hear of [...all]) hear();
  };
  signal.addEventListener("abort", listener, { once: true });
  const known = { all, listener };
  hearers.set(signal, known);
  return known;
}
