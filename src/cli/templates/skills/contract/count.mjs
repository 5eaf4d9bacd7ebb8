export function countWords({ text, minimum }) {
  return { words: text.split(/\s+/).filter((word) => word.length >= minimum).length };
}
