import { clip } from "skillflow/internal";

/** Exception whose stack trace is shown with the app's frames near the failure first, then the rest in short. */

export interface Exception {
  readonly type?: string | null;
  readonly value?: string | null;
  readonly module?: string | null;
  readonly mechanism?: { readonly type?: string; readonly handled?: boolean | null } | null;
  readonly stacktrace?: Stacktrace | null;
}

export interface Stacktrace {
  /** Frames, with the outermost call first and the failure last. */
  readonly frames?: readonly Frame[] | null;
}

interface Frame {
  readonly function?: string | null;
  readonly filename?: string | null;
  readonly absPath?: string | null;
  readonly module?: string | null;
  readonly package?: string | null;
  readonly lineNo?: number | null;
  readonly colNo?: number | null;
  readonly inApp?: boolean;
  readonly context?: readonly (readonly [number, string | null])[] | null;
}

export function exceptionOf({ type, value, module, mechanism, stacktrace }: Exception) {
  return {
    type,
    value,
    module,
    mechanism: mechanism?.type,
    handled: mechanism?.handled ?? undefined,
    ...(stacktrace ? framesOf(stacktrace) : {}),
  };
}

const MOST_DETAILED = 8;
const MOST_OTHERS = 10;

/** Returns frames numbered outwards from the failure at 0. If none are the app's own, details the nearest. */
export function framesOf({ frames }: Stacktrace) {
  const numbered = [...(frames ?? [])].reverse().map((frame, depth) => ({ frame, depth }));
  const own = numbered.filter(({ frame }) => frame.inApp);
  const detailed = (own.length > 0 ? own : numbered).slice(0, MOST_DETAILED);
  const others = numbered.filter((one) => !detailed.includes(one));
  const left = others.length - MOST_OTHERS;
  return {
    frames: detailed.map(({ frame, depth }) => ({
      depth,
      in_app: frame.inApp ?? false,
      at: lineOf(frame),
      source: sourceOf(frame),
    })),
    other_frames: others.slice(0, MOST_OTHERS).map(({ frame, depth }) => `${depth} ${lineOf(frame)}`),
    ...(left > 0 ? { further_frames: left } : {}),
  };
}

function lineOf(frame: Frame): string {
  const place = frame.filename ?? frame.absPath ?? frame.module ?? frame.package ?? "unknown file";
  const position = [frame.lineNo, frame.colNo].filter((number) => typeof number === "number").join(":");
  return clip(`${frame.function ?? "(anonymous)"} (${[place, position].filter((part) => part !== "").join(":")})`, 300);
}

const LINES_AROUND = 3;

/** Returns the source lines around the failing line, which is marked. */
function sourceOf({ context, lineNo }: Frame): string | undefined {
  const failed = lineNo ?? Number.NaN;
  const near = (context ?? []).filter(([number]) => Math.abs(number - failed) <= LINES_AROUND);
  if (near.length === 0) return undefined;
  return near.map(([number, text]) => `${number === failed ? ">" : " "} ${number} ${clip(text ?? "", 160)}`).join("\n");
}
