import { plural } from "../../core/base/preview.ts";
import type { CheckedClaim } from "../../core/engine/evidence/claims.ts";
import { claimText } from "../../core/engine/evidence/claims.ts";
import type { Account } from "../model/account.ts";
import type { Visit } from "../model/visit.ts";
import { html, type Markup } from "./markup/markup.ts";

/** Claims with their verification, and quotes with the results that contain them. */

/** Lists supported claims first, with links to the calls that prove them, and then the others with the reason. */
export function evidenceHtml({ evidence }: Account): Markup {
  const { claims, missing } = evidence;
  const none = missing.map(({ visit, why }) => html`<p class="complaint failed" dir="auto">${visit.name}: ${why}</p>`);
  const items = claims.map(({ text, supported, cites }) => claimHtml(text, supported, cites));
  return html`${none}<ol class="claims">${items}</ol>`;
}

/** Returns a title such as `5 of 6 claims shown by results`. */
export function evidenceTitle({ evidence: { claims, supported } }: Account): string {
  const lost = claims.length - supported;
  return lost === 0
    ? `${plural(claims.length, "claim")}, each shown by a result`
    : `${supported} of ${plural(claims.length, "claim")} shown by results, ${lost} unsupported`;
}

/** Shows the claims of an earlier visit of a node. The page's evidence shows only the last visits. */
export function visitClaimsHtml({ evidence }: Visit): Markup | undefined {
  const claims = evidence.flatMap((checked) => checked.claims);
  if (claims.length === 0) return undefined;
  const ordered = [...claims.filter(({ supported }) => supported), ...claims.filter(({ supported }) => !supported)];
  const items = ordered.map(({ claim, supported, cites }) => claimHtml(claimText(claim), supported, cites));
  return html`<section class="part"><h4>Claims that code has checked</h4><ol class="claims">${items}</ol></section>`;
}

function claimHtml(text: string, supported: boolean, cites: CheckedClaim["cites"]): Markup {
  const shown = supported
    ? html`<p class="claim" dir="auto">${text}</p>`
    : html`<p class="claim" dir="auto"><del>${text}</del> <span class="badge failed">unsupported</span></p>`;
  const list = cites.map(({ ref, quote, problem }) => {
    return problem === undefined
      ? html`<li><a class="cite" href="#${ref}">${ref}</a> <q dir="auto">${quote}</q></li>`
      : html`<li><span class="cite">${ref}</span> <del dir="auto">${quote}</del> <span class="meta" dir="auto">${problem}</span></li>`;
  });
  const refs = list.length === 0 ? undefined : html`<ul class="cites">${list}</ul>`;
  const isHeld = cites.every(({ problem }) => problem === undefined);
  const reason = cites.length === 0 ? "it cites no result" : "none of its evidence is from the team's own systems";
  const why = supported || !isHeld ? undefined : html`<p class="meta">${reason}</p>`;
  return html`<li class="${supported ? "holds" : "lost"}">${shown}${why}${refs}</li>
`;
}

/** Lists the quotes that claims take from a result, so that they are visible in any layout. */
export function quotedHtml(quotes: ReadonlySet<string> | undefined): Markup | undefined {
  if (!quotes || quotes.size === 0) return undefined;
  const shown = [...quotes].map((quote) => html`<li><mark dir="auto">${quote}</mark></li>`);
  return html`<h5>Quoted by claims</h5><ul class="cites">${shown}</ul>`;
}
