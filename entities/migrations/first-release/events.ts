import { ofTheService, readByAll, readByTenant } from './row-level-security.js';

/** The log of events, in a table for each month (docs/decisions/0027). */
export const events = `
create table events (
  id uuid not null,
  transaction_id bigint not null,
  written_in bigint,
  account_id uuid,
  application_id uuid,
  environment_id uuid,
  actor_type text not null,
  actor_id text,
  actor_label text,
  action text not null,
  resource_type text not null,
  resource_id text,
  resource_label text,
  metadata jsonb not null,
  outcome text not null,
  category text not null,
  severity text not null,
  correlation_id uuid not null,
  traceparent text,
  is_domain_event boolean not null,
  customer_visible boolean not null,
  identity_visible boolean not null,
  created_at timestamptz not null,
  primary key (id, created_at),
  constraint events_category check (category in ('auth', 'identity', 'access', 'structure', 'configuration', 'integration', 'security')),
  constraint events_outcome check (outcome in ('success', 'failure', 'denied')),
  constraint events_severity check (severity in ('info', 'notice', 'warning', 'critical'))
) partition by range (created_at);
create index events_account on events (account_id, created_at, id);
create index events_actor on events (actor_id, created_at) where actor_id is not null;
create index events_correlation on events (correlation_id);
create index events_created on events using brin (created_at);
create index events_environment on events (environment_id, created_at, id);
create index events_feed_order on events (environment_id, transaction_id, created_at, id) where is_domain_event;
create index events_resource on events (resource_id, created_at) where resource_id is not null;
${readByTenant('events')}
create policy record on events for insert
  with check ((select gatehouse_is_system()) or account_id = (select gatehouse_account_id()));

create table events_default partition of events default;
-- Without a policy there is no way to a partition but through its table.
alter table events_default enable row level security;

create table event_partitions (
  name text primary key,
  starts_at timestamptz not null,
  ends_at timestamptz not null
);
alter table event_partitions enable row level security;

create table event_state (
  id boolean primary key,
  counted_below bigint not null,
  dropped_through bigint not null,
  constraint event_state_one check (id)
);
${readByAll('event_state')}

create table event_marks (
  transaction_id bigint primary key,
  at timestamptz not null
);
${readByAll('event_marks')}

create table event_counts (
  account_id uuid not null,
  environment_id uuid not null,
  application_id uuid not null,
  day date not null,
  action text not null,
  resource_type text not null,
  category text not null,
  severity text not null,
  outcome text not null,
  identity_visible boolean not null,
  value bigint not null,
  primary key (
    account_id, environment_id, application_id, day, action, resource_type, category, severity, outcome, identity_visible)
);
${readByTenant('event_counts')}

create table feed_readers (
  environment_id uuid primary key,
  until timestamptz not null
);
${readByAll('feed_readers')}
${ofTheService('feed_readers')}
`;
