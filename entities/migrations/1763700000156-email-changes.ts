import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ofTheService } from './first-release/row-level-security.js';

/** New addresses of administrators, until they are confirmed (docs/decisions/0107). */
export class EmailChanges1763700000156 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table users add column email_changed_at timestamptz');
    await db.query(`
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
${ofTheService('email_changes')}`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
