/** Resolves after the event loop has handled signals, timers and connections. */
export const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
