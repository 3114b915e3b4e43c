import { mayEnqueue, ofTheService } from './row-level-security.js';

/** SQL: whether somebody waits at a page for what the message starts. */
const isAwaited = `process = 'registrationVerification' or input ? 'isAwaited'`;

/** Messages on their way to Temporal, and mails. A tenant's transaction may queue some, but never reads any. */
export const messages = `
create table outbox (
  id uuid primary key,
  process text not null,
  input jsonb not null,
  account_id uuid not null default 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  created_at timestamptz not null,
  due_at timestamptz not null,
  attempts integer not null,
  last_error text,
  traceparent text
);
-- Lanes of the relay: what somebody waits for at a page, deliveries of webhooks, everything else (docs/decisions/0078).
create index outbox_due_awaited on outbox (due_at, id) where ${isAwaited};
create index outbox_due_others on outbox (due_at, id)
  where process <> 'webhookDelivery' and not (${isAwaited});
create index outbox_due_webhooks on outbox (due_at, id) where process = 'webhookDelivery';
-- If more waits than fits a batch, Accounts take turns.
create index outbox_turns_awaited on outbox (account_id, due_at, id) where ${isAwaited};
create index outbox_turns_others on outbox (account_id, due_at, id)
  where process <> 'webhookDelivery' and not (${isAwaited});
create index outbox_turns_webhooks on outbox (account_id, due_at, id) where process = 'webhookDelivery';
${mayEnqueue('outbox')}
${ofTheService('outbox')}

create table emails (
  id uuid primary key,
  account_id uuid,
  environment_id uuid,
  template text not null,
  locale text not null,
  subject_id uuid not null,
  recipient_id uuid,
  cause text not null,
  status text not null,
  failure text,
  created_at timestamptz not null,
  attempted_at timestamptz,
  ended_at timestamptz,
  constraint emails_status check (status in ('pending', 'sent', 'failed', 'cancelled'))
);
create index emails_account on emails (account_id, created_at, id) where account_id is not null;
create unique index emails_cause on emails (cause);
create index emails_ended on emails (ended_at) where ended_at is not null;
-- Nearly all mails are sent: an Account's processes show the others first (docs/decisions/0085).
create index emails_not_sent on emails (account_id, created_at, id) include (environment_id)
  where status <> 'sent' and account_id is not null;
create index emails_open on emails (id) where status = 'pending';
${mayEnqueue('emails')}
${ofTheService('emails')}
`;
