// Renews certificates: contacts the issuer, which refuses the connection, again and again.

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const { CERTIFICATE, ISSUER_PORT, EVERY_MS } = process.env;
process.once("SIGTERM", () => process.exit());
const { validTo } = new X509Certificate(readFileSync(CERTIFICATE));
const notAfter = new Date(validTo).toISOString().replace(".000", "");
for (let attempt = 2871; ; attempt += 1) {
  const error = await fetch(`http://127.0.0.1:${ISSUER_PORT}/sign`).catch(({ cause }) => cause.code);
  write(`E order stock-tls attempt ${attempt} failed: dial acme.internal:443: ${error}`);
  write(`I secret stock-tls kept, notAfter=${notAfter}`);
  await sleep(Number(EVERY_MS));
}

function write(text) {
  process.stdout.write(`${new Date().toISOString()} cert-renewer ${text}\n`);
}
