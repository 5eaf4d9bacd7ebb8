-- Tables and functions of skillflow. The engine has its own, in another schema.
--
-- `segments`: one engine workflow after another drives a run, until it ends or another process takes over. `records` is
-- then the number of the segment's steps that count.
-- `runs.skim`: list data of a run that is not being driven, written by its last driver.
-- `blobs.content` is stored uncompressed, so that a part can be read without the whole.

create schema if not exists skillflow;
create table if not exists skillflow.runs (
  nr bigint generated always as identity, run text primary key, began text not null, record text not null, skim text);
create table if not exists skillflow.segments (
  run text references skillflow.runs on delete cascade, nr int, workflow text not null unique, records int,
  primary key (run, nr));
create table if not exists skillflow.blobs (
  run text, id text, kind text not null, size bigint not null, content bytea not null, primary key (run, id));
create table if not exists skillflow.states (name text primary key, entries text not null);
alter table skillflow.blobs alter column content set storage external;

-- `take_turn` takes a turn and returns 0, or returns the milliseconds to wait before asking again. A turn counts while it
-- runs, or for the rate's period. Earlier requests go first. Decisions are serialized and use the database's clock.

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
  -- Each process holds this lock while it lives (turns.ts).
  delete from skillflow.turns where rate = of_rate and holder <> of_holder and (begun is null or period is null)
    and not hashtextextended('skillflow turns of ' || holder, 0) = any(living);
  select count(*) into ahead from skillflow.turns where rate = of_rate and (begun is not null or nr < mine);
  if ahead < most then
    update skillflow.turns set begun = moment where ticket = of_ticket;
    return 0;
  end if;
  if period is null then return 200; end if;
  select begun + period into opens from skillflow.turns
    where rate = of_rate and begun is not null order by begun offset ahead - most limit 1;
  -- At most 5 s, because waiting processes may have given up.
  return 1 + least(5000, greatest(0, coalesce(extract(epoch from opens - moment) * 1000, per_ms)));
end $body$;
