/** Resolves once the process has looked at its signals, timers and connections. */
export const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
