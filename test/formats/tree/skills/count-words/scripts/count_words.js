export default async function handler({ text }) {
  return { words: text.split(/\s+/).filter(Boolean).length };
}
