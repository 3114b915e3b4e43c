import { ofTheService } from './row-level-security.js';

/** What waits until an administrator confirms it by a mailed link. */
export const registrations = `
create table pending_registrations (
  id uuid primary key,
  email citext,
  password_hash text,
  first_name text,
  last_name text,
  account_name text,
  application_name text,
  locale text not null,
  token_hash bytea not null,
  token_key_id text not null,
  browser_hash bytea,
  attempts integer not null default 0,
  status text not null,
  ended_reason text,
  user_id uuid,
  account_id uuid,
  correlation_id uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  constraint pending_registrations_status check (status in ('pending', 'confirmed', 'expired', 'discarded', 'cancelled'))
);
create index pending_registrations_email on pending_registrations (email) where status = 'pending';
create index pending_registrations_ended on pending_registrations (ended_at) where ended_at is not null;
create index pending_registrations_open on pending_registrations (id) where status = 'pending';
create unique index pending_registrations_token on pending_registrations (token_hash);
create index pending_registrations_user on pending_registrations (user_id) where user_id is not null;
${ofTheService('pending_registrations')}

create table account_intents (
  id uuid primary key,
  user_id uuid not null constraint account_intents_user_fk references users (id) on delete cascade,
  account_name text not null,
  application_name text not null,
  account_slug text,
  locale text not null,
  status text not null,
  ended_reason text,
  claim_id uuid,
  claimed_at timestamptz,
  account_id uuid,
  correlation_id uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  constraint account_intents_status check (status in ('parked', 'claimed', 'consumed', 'discarded', 'expired', 'cancelled', 'failed'))
);
create index account_intents_ended on account_intents (ended_at) where ended_at is not null;
create index account_intents_open on account_intents (id) where status in ('parked', 'claimed');
create index account_intents_user on account_intents (user_id);
${ofTheService('account_intents')}

create table password_links (
  id uuid primary key,
  user_id uuid constraint password_links_user_fk references users (id) on delete cascade,
  purpose text not null,
  locale text not null,
  token_hash bytea not null,
  token_key_id text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  constraint password_links_purpose check (purpose in ('reset', 'set'))
);
create index password_links_expiry on password_links (expires_at);
create unique index password_links_token on password_links (token_hash);
create index password_links_user on password_links (user_id);
${ofTheService('password_links')}
`;

/** New addresses of administrators, until they are confirmed (docs/decisions/0107). */
export const emailChanges = `
create table email_changes (
  id uuid primary key,
  user_id uuid not null constraint email_changes_user_fk references users (id) on delete cascade,
  session_id uuid not null,
  email citext,
  former_email citext,
  locale text not null,
  token_hash bytea not null,
  token_key_id text not null,
  browser_hash bytea not null,
  attempts integer not null default 0,
  status text not null,
  ended_reason text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  constraint email_changes_status check (status in ('pending', 'confirmed', 'expired', 'withdrawn', 'cancelled'))
);
create index email_changes_ended on email_changes (ended_at) where ended_at is not null;
create unique index email_changes_one_pending on email_changes (user_id) where status = 'pending';
create index email_changes_open on email_changes (id) where status = 'pending';
create unique index email_changes_token on email_changes (token_hash);
create index email_changes_user on email_changes (user_id);
${ofTheService('email_changes')}
`;
