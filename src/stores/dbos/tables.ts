/** What we make in the database, in the schema `skillflow`. */

/**
 * - `segments`: a run is carried on by one workflow of the engine after another, each from its begin to its end, or to where
 *   another took over; `records` says how many of its steps count then.
 * - `runs.skim` is what a list shows of a run that nobody drives: kept by whoever drove it last.
 * - `blobs.content` is kept as it is, so that a part of it is read without the whole.
 */
const OURS = `
  create schema if not exists skillflow;
  create table if not exists skillflow.runs (
    nr bigint generated always as identity, run text primary key, began text not null, record text not null, skim text);
  create table if not exists skillflow.segments (
    run text references skillflow.runs on delete cascade, nr int, workflow text not null unique, records int,
    primary key (run, nr));
  create table if not exists skillflow.blobs (
    run text, id text, kind text not null, size bigint not null, content bytea not null, primary key (run, id));
  create table if not exists skillflow.states (name text primary key, entries text not null);
  alter table skillflow.blobs alter column content set storage external;`;

/** The lock by which a process that waits, or has its turn, is known to live. */
export const HOLDER = "skillflow turns of ";
const POLL_MS = 200;
/** Somebody before us may have given up. */
const LONGEST_MS = 5000;

/**
 * `take_turn` gives the milliseconds after which to ask again, or 0: it is our turn. Those that began count for as long as the
 * rate's time, or while they are under way; before us come all that asked earlier. One at a time decides, by the database's clock.
 */
const TURNS = `
  create table if not exists skillflow.turns (
    nr bigint generated always as identity primary key, rate text not null, holder text not null,
    ticket text not null unique, begun timestamptz);
  create index if not exists turns_by_rate on skillflow.turns (rate, nr);
  create or replace function skillflow.take_turn(of_rate text, most int, per_ms bigint, of_holder text, of_ticket text)
    returns int language plpgsql as $body$
  declare
    period interval := per_ms * interval '1 millisecond';
    moment timestamptz;
    living bigint[];
    mine bigint;
    ahead bigint;
    opens timestamptz;
  begin
    perform pg_advisory_xact_lock(hashtextextended('skillflow turns ' || of_rate, 0));
    moment := clock_timestamp();
    insert into skillflow.turns (rate, holder, ticket) values (of_rate, of_holder, of_ticket) on conflict do nothing;
    select nr into mine from skillflow.turns where ticket = of_ticket;
    delete from skillflow.turns where rate = of_rate and begun <= moment - period;
    living := array(select classid::bigint << 32 | objid::bigint from pg_locks
      where locktype = 'advisory' and granted and objsubid = 1);
    delete from skillflow.turns where rate = of_rate and holder <> of_holder and (begun is null or period is null)
      and not hashtextextended('${HOLDER}' || holder, 0) = any(living);
    select count(*) into ahead from skillflow.turns where rate = of_rate and (begun is not null or nr < mine);
    if ahead < most then
      update skillflow.turns set begun = moment where ticket = of_ticket;
      return 0;
    end if;
    if period is null then return ${POLL_MS}; end if;
    select begun + period into opens from skillflow.turns
      where rate = of_rate and begun is not null order by begun offset ahead - most limit 1;
    return 1 + least(${LONGEST_MS}, greatest(0, coalesce(extract(epoch from opens - moment) * 1000, per_ms)));
  end $body$;`;

export const TABLES = `${OURS}${TURNS}`;
