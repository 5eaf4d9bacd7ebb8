/** Renders a Graphviz document. Loads the drawing library on first use. */
export async function renderSvg(dot: string): Promise<string> {
  const { instance } = await import("@viz-js/viz");
  const viz = await instance();
  return viz.renderString(dot, { format: "svg" });
}

/** Converts Graphviz's output to an element for an HTML page, which also sets its colors. */
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
