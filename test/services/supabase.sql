create role anon nologin;

create role service_role nologin bypassrls;

create role triage nologin;

create role authenticator login noinherit;

grant anon, service_role, triage to authenticator;

create table services (id int primary key, name text not null unique);

create table incidents (
  id bigserial primary key,
  service_id int references services,
  title text not null unique,
  severity int not null default 3 constraint severity_known check (severity between 1 and 5),
  active boolean not null default true,
  status varchar(12) not null default 'open',
  payload jsonb,
  tags text[] not null default '{}',
  opened_at timestamptz,
  notes text,
  checksum text generated always as (md5(title)) stored,
  "order" text,
  "columns" text,
  "odd.name, (really)" text
);

comment on table incidents is 'What went wrong.';

comment on column incidents.severity is 'One is worst.';

create table secrets (id serial primary key, incident_id bigint references incidents, value text);

create table links (id serial primary key, notes bigint references secrets);

create table notes (id serial primary key, body text);

create table texts (id serial primary key, body text unique);

create table numbers (id int primary key, big bigint, amount numeric);

create table wide (id int primary key, body text, doc jsonb);

create view open_incidents as select id, title, severity from incidents where status = 'open';

create schema ops;

create table ops.runbooks (id serial primary key, title text);

create table ops.secrets (id serial primary key, value text);

insert into services values (1, 'checkout'), (2, 'search');

insert into incidents (service_id, title, severity, active, status, payload, tags, opened_at, notes, "order", "odd.name, (really)") values
  (1, 'Checkout answers 500', 1, true, 'open', '{"error": {"code": "E42"}, "a b": "x", "list": [7, 8]}', '{db,urgent}', '2026-01-01T08:00Z', 'timeouts while connecting to the pool', 'first', 'odd'),
  (1, 'Checkout is slow', 2, true, 'open', '{"error": {"code": "E7"}}', '{db}', '2026-01-02T08:00Z', null, 'second', null),
  (2, 'Search is stale', 3, false, 'closed', null, '{}', '2026-01-03T08:00Z', 'reindexed 100% (twice), "fully"', null, null),
  (2, 'Search "misses", \ more', 4, false, 'closed', null, '{}', null, null, null, null),
  (null, 'Nobody knows', 5, true, 'open', null, '{a\,b}', null, null, null, null);

insert into secrets (incident_id, value) values (1, 'the canary of the secrets'), (2, 'another canary');

insert into links (notes) values (1);

insert into ops.runbooks (title) values ('Restart the pool');

insert into ops.secrets (value) values ('the canary of ops');

insert into numbers values (1, 9007199254740993, 0.1), (2, -5, 12345.678);

insert into wide select n, repeat('x', 3000) || n, jsonb_build_object('deep', repeat('y', 3000)) from generate_series(1, 60) n;

create function open_count() returns int language sql stable as $$ select count(*)::int from incidents where status = 'open' $$;

create function incidents_of(service text, worst int default 5) returns setof incidents language sql stable as
  $$ select i.* from incidents i join services s on s.id = i.service_id where s.name = service and severity <= worst order by i.id $$;

create function series(upto int) returns setof int language sql as $$ select generate_series(1, upto) $$;

create function merge_doc(doc jsonb, labels text[]) returns jsonb language sql immutable as
  $$ select doc || jsonb_build_object('labels', to_jsonb(labels)) $$;

create function quiet() returns void language sql as $$ select $$;

create function refuse() returns void language plpgsql as $$ begin raise exception 'not during an incident' using hint = 'wait until it is over'; end $$;

create function forget_all() returns int language sql security definer as $$ delete from texts; select 1 $$;

create function escalate(incidents) returns text language plpgsql volatile security definer as
  $$ begin insert into texts (body) values ('escalated ' || clock_timestamp()); return 'yes'; end $$;

grant usage on schema public, ops to anon, service_role, triage;

grant all on all tables in schema public, ops to service_role;

grant all on all sequences in schema public, ops to service_role, triage;

grant select, insert, update, delete on incidents, texts to triage;

alter table incidents enable row level security;

create policy own_service on incidents for all to triage using (service_id = 1) with check (service_id = 1);
