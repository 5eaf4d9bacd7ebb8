/** Draws a Graphviz document; the drawing library is loaded only when a drawing is asked for. */
export async function renderSvg(dot: string): Promise<string> {
  const { instance } = await import("@viz-js/viz");
  const viz = await instance();
  return viz.renderString(dot, { format: "svg" });
}

/** What Graphviz drew, as an element that can stand inside an HTML page and takes its colours from there. */
export function embedSvg(svg: string): string {
  const start = svg.indexOf("<svg");
  return svg
    .slice(Math.max(0, start))
    .replace(/<!--[^<>]*-->\n?/g, "")
    .replace(/<title>[^<]*<\/title>\n?/g, "")
    .replace(
      /^<svg width="(\d+)pt" height="(\d+)pt"/,
      '<svg class="graph" role="img" aria-label="Graph of the workflow" width="$1" height="$2"',
    )
    .trim();
}
