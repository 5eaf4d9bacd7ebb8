// A database: packed rows, indexes, a few backends, and a log as PostgreSQL writes it. A scan reads every page from a slow
// disk and unpacks every row, an index only those that it names.
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { newRandom, pick } from "../../make/random.mjs";

const ROWS = 20_000;
const BACKENDS = 2;
const DISK_MS = 350;
const SLOW_MS = 100;
const BRANDS = ["Rühl", "Ebner", "Novák", "Tarn", "Lindqvist", "Møller", "Ostrava", "Quist", "Sorel", "Wyld"];
const CATEGORIES = ["lamps", "chairs", "shelves", "rugs", "clocks"];

const tables = { products: { rows: products(), indexes: new Map() } };
createIndex(tables.products, "products_pkey", "id");
const migrations = new Set();
const waiting = [];
let busy = 0;
const server = createServer((request, response) => handle(request, response));
server.listen(Number(process.env.PORT), "127.0.0.1", () => write("database system is ready to accept connections"));
process.once("SIGTERM", () => process.exit());
setInterval(() => write("checkpoint complete: wrote 214 buffers (1.3%); 0 WAL file(s) added"), 7000).unref();
setInterval(() => write('automatic vacuum of table "shop.public.sessions": index scans: 1', 9), 11_000).unref();

async function handle(request, response) {
  if (request.url === "/healthz") return response.end();
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const statement = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  const answer = statement.kind === "alter" ? migrate(statement) : await atBackend(() => select(statement), response);
  response.end(JSON.stringify(answer));
}

/** A client that has hung up by then is not served. */
async function atBackend(work, response) {
  if (busy >= BACKENDS) await new Promise((resolve) => waiting.push(resolve));
  busy += 1;
  const answer = response.destroyed ? [] : await work();
  busy -= 1;
  waiting.shift()?.();
  return answer;
}

async function select({ table, where, limit }) {
  const started = performance.now();
  const { rows, indexes } = tables[table];
  const [column, value] = Object.entries(where)[0] ?? [];
  const index = [...indexes.values()].find((one) => one.column === column);
  if (!index) await sleep(DISK_MS);
  const found = index
    ? (index.entries.get(value) ?? []).slice(0, limit).map((at) => JSON.parse(rows[at]))
    : rows.map((row) => JSON.parse(row)).filter((row) => column === undefined || row[column] === value);
  const ms = performance.now() - started;
  if (ms >= SLOW_MS) {
    const text = `SELECT * FROM ${table} WHERE ${column} = '${value}' LIMIT ${limit}`;
    write(`duration: ${ms.toFixed(3)} ms  statement: ${text}`);
    write(`plan: ${index ? "Index Scan" : "Seq Scan"} on ${table} (${index ? found.length : rows.length} rows read)`);
  }
  return found.slice(0, limit);
}

function migrate({ migration, steps }) {
  if (migrations.has(migration)) return { applied: false };
  migrations.add(migration);
  for (const step of steps) {
    const table = tables[step.table ?? "products"];
    if (step.createIndex) createIndex(table, step.createIndex, step.column);
    if (step.dropIndex) table.indexes.delete(step.dropIndex);
    if (step.addColumn) rewrite(table, (row) => ({ ...row, [step.addColumn]: folded(row[step.from]) }));
    if (step.dropColumn) rewrite(table, ({ [step.dropColumn]: _, ...row }) => row);
    write(`statement: ${statementOf(step)}`, 7);
  }
  return { applied: true };
}

function statementOf({ createIndex, dropIndex, addColumn, dropColumn, table, column }) {
  if (createIndex) return `CREATE INDEX ${createIndex} ON ${table} (${column})`;
  if (dropIndex) return `DROP INDEX ${dropIndex}`;
  if (addColumn) return `ALTER TABLE ${table} ADD COLUMN ${addColumn} text`;
  return `ALTER TABLE ${table} DROP COLUMN ${dropColumn}`;
}

function rewrite(table, change) {
  table.rows = table.rows.map((row) => JSON.stringify(change(JSON.parse(row))));
}

function createIndex(table, name, column) {
  table.indexes.set(name, { column, entries: entriesOf(table, column) });
}

function entriesOf({ rows }, column) {
  const entries = new Map();
  for (const [at, row] of rows.entries()) {
    const value = JSON.parse(row)[column];
    if (!entries.has(value)) entries.set(value, []);
    entries.get(value).push(at);
  }
  return entries;
}

function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

function products() {
  const random = newRandom(11);
  return Array.from({ length: ROWS }, (_, id) => {
    const [brand, category] = [pick(random, BRANDS), pick(random, CATEGORIES)];
    const price = Math.floor(random() * 90_000) / 100;
    return JSON.stringify({ id, name: `${brand} ${category} ${id}`, brand, category, price, badge: null });
  });
}

function write(text, backend = 3) {
  const time = new Date().toISOString().replace("T", " ").replace("Z", " UTC");
  process.stdout.write(`${time} [${backend}] LOG:  ${text}\n`);
}
