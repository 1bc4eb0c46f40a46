-- The table `call` in partitions of a day each, dropped whole: for PostgreSQL from about 1,000 requests a second on.
--
--   psql "$POINTSMAN_SQL_URL" -v ON_ERROR_STOP=1 -f deploy/postgres-partitions.sql       once, after `pointsman migrate`
--   psql "$POINTSMAN_SQL_URL" -c "select call_partitions(30)"                            each day, by cron or pg_cron
--
-- Run it while routers run: they write into memory and their spool for as long as the table is locked. What is there
-- already becomes one partition, read once for its new key: minutes for hundreds of millions of rows.
-- The key is (request_id, at) instead of request_id: PostgreSQL wants the partition's column in it. A row that is written
-- twice has the same `at`, so it is still kept once. To find a row by its id alone, each partition's index is asked.
-- Days are those of UTC. Keep more days here than `retention.calls_days`, and that deletes row by row; keep as many, and
-- it finds nothing to delete. Rows for which no partition is there go to `call_default` and are moved at the next call.

begin;

create function call_partition(day bigint) returns text language sql immutable as
$$ select 'call_' || to_char(to_timestamp(day * 86400) at time zone 'UTC', 'YYYYMMDD') $$;

-- Makes the partitions of today and the days ahead, and drops those that ended `kept_days` ago.
create function call_partitions(kept_days integer, ahead_days integer default 7) returns void language plpgsql as
$$
declare
  today bigint := floor(extract(epoch from now()) / 86400);
  part text;
begin
  if kept_days < 1 or ahead_days < 1 then
    raise exception 'call_partitions: kept_days and ahead_days must be at least 1';
  end if;
  for day in today .. today + ahead_days loop
    part := call_partition(day);
    continue when to_regclass(part) is not null;
    execute format('create table %I (like call including defaults)', part);
    execute format('with moved as (delete from call_default where at >= %s and at < %s returning *) insert into %I select * from moved',
                   day * 86400, (day + 1) * 86400, part);
    execute format('alter table call attach partition %I for values from (%s) to (%s)', part, day * 86400, (day + 1) * 86400);
  end loop;
  for part in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'call'::regclass and c.relname ~ '^call_\d{8}$' and c.relname < call_partition(today - kept_days)
  loop
    execute format('drop table %I', part);
  end loop;
end
$$;

alter table call rename to call_before;
alter table call_before drop constraint pk_call;
alter index ix_call_at rename to ix_call_before_at;
alter index ix_call_app_at rename to ix_call_before_app_at;
alter index ix_call_served_model_at rename to ix_call_before_served_model_at;
alter index ix_call_session_at rename to ix_call_before_session_at;

create table call (like call_before including defaults) partition by range (at);
alter table call add constraint pk_call primary key (request_id, at);
create index ix_call_at on call (at);
create index ix_call_app_at on call (app, at);
create index ix_call_served_model_at on call (served_model, at);
create index ix_call_session_at on call (session, at);
create table call_default partition of call default;

-- What is there already: one partition up to the end of today, under today's name.
do $$
declare
  today bigint := floor(extract(epoch from now()) / 86400);
begin
  execute format('alter table call_before rename to %I', call_partition(today));
  execute format('alter table call attach partition %I for values from (minvalue) to (%s)', call_partition(today), (today + 1) * 86400);
end
$$;

select call_partitions(30);

commit;
