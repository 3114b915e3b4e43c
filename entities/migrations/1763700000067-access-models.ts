import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which nodes an Environment may have (docs/decisions/0033). Existing Environments could have any, and still can. */
export class AccessModels1763700000067 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
alter table environment_settings add access_model text not null default 'hierarchy',
  add constraint environment_settings_access_model check (access_model in ('flat', 'organizations', 'hierarchy'));
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
