// A certificate authority and a certificate that expires soon, made by openssl.
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const CONFIG = `[ca]
default_ca = own
[own]
database = index.txt
serial = serial
new_certs_dir = .
certificate = ca.pem
private_key = ca.key
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
`;

/** ca.pem, stock.key and stock.pem in a folder. */
export async function makeCertificates(folder, ends) {
  await mkdir(folder);
  const openssl = (...args) => run("openssl", args, { cwd: folder });
  for (const [name, text] of Object.entries({ "ca.cnf": CONFIG, "index.txt": "", serial: "2A" })) {
    await writeFile(join(folder, name), text);
  }
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  await openssl(
    "req",
    "-x509",
    ...key,
    "-keyout",
    "ca.key",
    "-out",
    "ca.pem",
    "-subj",
    "/CN=internal-ca",
    "-days",
    "3650",
  );
  const names = ["-subj", "/CN=stock.internal", "-addext", "subjectAltName=DNS:stock.internal"];
  await openssl("req", ...key, "-keyout", "stock.key", "-out", "stock.csr", ...names);
  const dates = ["-startdate", stamp(ends - 90 * 86_400_000), "-enddate", stamp(ends)];
  await openssl("ca", "-batch", "-notext", "-config", "ca.cnf", "-in", "stock.csr", "-out", "stock.pem", ...dates);
}

/** 20261122093102Z */
function stamp(time) {
  return `${new Date(time).toISOString().slice(0, 19).replace(/[-:T]/g, "")}Z`;
}
