export default async function handler({ text, unit }) {
  const words = text.split(/\s+/).filter(Boolean).length;
  const lines = text.split("\n").length;
  if (unit === "words") return { words };
  return unit === "lines" ? { lines } : { words, lines };
}
