/** Kubernetes quantities such as 250m, 128Mi and 1e3. */

const UNITS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Parses a quantity into cores or bytes. Returns undefined if it is invalid. */
export function amountOf(text: string | number | null | undefined): number | undefined {
  const [, digits, unit = ""] =
    /^([+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)([a-zA-Z]{0,2})$/.exec(String(text ?? "")) ?? [];
  const factor = UNITS[unit];
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor;
}

export function coresText(cores: number): string {
  return `${Math.round(cores * 1000)}m`;
}

export function bytesText(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)}Mi`;
}

/** Returns a share in whole percent, or undefined without a total. */
export function percentOf(part: number, whole: number | undefined): number | undefined {
  return whole ? Math.round((part / whole) * 100) : undefined;
}
