/** Its head and its tail, where it is longer than `most` characters. Only of what was redacted: half a secret is none (trust 5). */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = Math.floor(most * 0.75);
  const tail = most - head - 100;
  return `${text.slice(0, head)}\n[… ${text.length - head - tail} characters left out …]\n${text.slice(-tail)}`;
}
