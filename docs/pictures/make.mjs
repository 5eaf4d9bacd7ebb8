import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Regenerates the README's pictures: `npm run pictures`. Needs `script` of util-linux, and Chromium for the report. */

const root = join(import.meta.dirname, "..", "..");
const COLUMNS = 96;
const LAST_LINES = 32;
const COLOURS = { 31: "#ef6b62", 32: "#6cc06e", 33: "#e0b84e", 34: "#6ea8fe", 35: "#c58af0", 36: "#56c2c9" };
const ESCAPE = String.fromCharCode(27);
const STYLES = new RegExp(`(${ESCAPE}\\[[\\d;]*m)`);

const folder = mkdtempSync(join(tmpdir(), "skillflow-pictures-"));
try {
  const report = join(folder, "report.html");
  const run = `node -- dist/bin.js run workflows/incident-triage.yml --input @workflows/incidents/checkout-5xx/alert.json --model replay:workflows/incident-triage.run.jsonl --run-id checkout --store ${join(folder, "runs")} --report html=${report}`;
  const command = `stty cols ${COLUMNS} rows 50; ${run}`;
  const screen = execFileSync("script", ["-qec", command, "/dev/null"], {
    cwd: root,
    encoding: "utf8",
    env: { PATH: process.env.PATH, HOME: folder, TERM: "xterm-256color" },
  });
  writeFileSync(join(import.meta.dirname, "terminal.svg"), svgOf(screen.replaceAll(`${folder}/`, "")));
  execFileSync("chromium", [
    ...[
      "--headless",
      "--no-sandbox",
      "--hide-scrollbars",
      "--force-device-scale-factor=1.5",
      "--window-size=1180,1000",
    ],
    `--screenshot=${join(import.meta.dirname, "report.webp")}`,
    `file://${report}`,
  ]);
} finally {
  rmSync(folder, { recursive: true });
}

/** Draws the final screen as an image of text. */
function svgOf(screen) {
  const lines = screen
    .split(/\r?\n/)
    .map((line) => line.split(`${ESCAPE}[K`).at(-1) ?? "")
    .slice(-LAST_LINES);
  const rows = lines.map(
    (line, index) => `<text x="20" y="${58 + index * 19}" xml:space="preserve">${spansOf(line)}</text>`,
  );
  const [width, height] = [COLUMNS * 8.43 + 40, 58 + lines.length * 19 + 6];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>A terminal after skillflow triaged an incident</title>
<rect width="100%" height="100%" rx="9" fill="#16181d"/>
<g fill="#e0574f"><circle cx="22" cy="22" r="6"/></g><circle cx="42" cy="22" r="6" fill="#d9a93f"/><circle cx="62" cy="22" r="6" fill="#58a35a"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#d8dce3">
${rows.join("\n")}
</g>
</svg>
`;
}

/** Text with its printed colors. */
function spansOf(line) {
  const style = { bold: false, dim: false, colour: undefined };
  return line
    .split(STYLES)
    .map((part) => {
      if (!part.startsWith(ESCAPE)) return part === "" ? "" : span(part, style);
      for (const code of part.slice(2, -1).split(";").map(Number)) take(style, code);
      return "";
    })
    .join("");
}

function take(style, code) {
  if (code === 0) Object.assign(style, { bold: false, dim: false, colour: undefined });
  else if (code === 1) style.bold = true;
  else if (code === 2) style.dim = true;
  else if (code === 22) Object.assign(style, { bold: false, dim: false });
  else if (code === 39) style.colour = undefined;
  else style.colour = COLOURS[code] ?? style.colour;
}

function span(text, { bold, dim, colour }) {
  const attributes = [
    ...(colour ? [`fill="${colour}"`] : dim ? [`fill="#8b93a1"`] : []),
    ...(bold ? [`font-weight="bold"`] : []),
  ];
  const safe = text.replace(/[&<>]/g, (mark) => `&#${mark.charCodeAt(0)};`);
  return attributes.length === 0 ? safe : `<tspan ${attributes.join(" ")}>${safe}</tspan>`;
}
