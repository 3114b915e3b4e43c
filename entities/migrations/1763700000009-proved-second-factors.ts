import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a pending sign-in has proved so far, in addition to its first factor. */
export class ProvedSecondFactors1763700000009 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
alter table pending_sign_ins
  add acr text not null default 'urn:gatehouse:aal1',
  add second_factor_at timestamptz,
  add has_proved_factor boolean not null default false;
-- What the service writes it states; the defaults were for the rows that were there.
alter table pending_sign_ins alter acr drop default, alter has_proved_factor drop default;
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
