import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which events of role assignments' windows were recorded; existing assignments with a future bound begin now. */
export class RoleAssignmentWindows1763700000032 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create table role_assignment_windows (
  id uuid primary key constraint role_assignment_windows_assignment_fk references role_assignments (id) on delete cascade,
  account_id uuid not null constraint role_assignment_windows_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint role_assignment_windows_environment_fk references environments (id) on delete cascade,
  status text not null,
  ended_reason text,
  told_until timestamptz not null,
  created_at timestamptz not null,
  ended_at timestamptz,
  constraint role_assignment_windows_status check (status in ('running', 'completed', 'removed', 'cancelled'))
);
create index role_assignment_windows_account on role_assignment_windows (account_id);
create index role_assignment_windows_environment on role_assignment_windows (environment_id);
create index role_assignment_windows_running on role_assignment_windows (id) where status = 'running';
alter table role_assignment_windows enable row level security;
create policy tenant on role_assignment_windows using ((select gatehouse_is_system()) or (account_id = (select gatehouse_account_id())
  and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));
insert into role_assignment_windows (id, account_id, environment_id, status, told_until, created_at)
  select id, account_id, environment_id, 'running', now(), now() from role_assignments
  where removed_at is null and (effective_from > now() or effective_to > now());
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
