import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The index by which housekeeping finds the invites that it may delete. */
export class EndedInvites1763700000020 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(
      'create index administrator_invites_ended on administrator_invites (ended_at) where ended_at is not null',
    );
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
