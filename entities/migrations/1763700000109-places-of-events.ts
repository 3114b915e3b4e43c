import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndexes } from './build-indexes.js';

/**
 * An event's place in the feed is after everything that its transaction has seen, instead of where its transaction
 * began (docs/decisions/0027). A previous release that still runs writes its events at the old place, but reads and
 * continues by the new ones.
 */
export class PlacesOfEvents1763700000109 implements MigrationInterface {
  transaction = false;

  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table events add column if not exists written_in bigint');
    // PL/pgSQL sees what is committed by now, even in a statement that has waited for a lock since it began.
    await db.query(`
create or replace function gatehouse_event_place() returns bigint language plpgsql volatile as $$
begin
  return greatest(pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1);
end $$`);
    await this.index(db);
  }

  /**
   * A partitioned table's index cannot be built concurrently: each partition's is, and is attached to an empty parent.
   */
  private async index(db: QueryRunner): Promise<void> {
    const columns = '(environment_id, transaction_id, created_at, id) where is_domain_event';
    await db.query('drop index if exists events_feed_order');
    const partitions: { name: string }[] = await db.query(
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'events'::regclass order by 1`,
    );
    const indexes = partitions.map(({ name }) => [`${name}_feed_order`, `on ${name} ${columns}`]);
    await buildIndexes(db, Object.fromEntries(indexes));
    await db.query(`create index events_feed_order on only events ${columns}`);
    for (const [name] of indexes) await db.query(`alter index events_feed_order attach partition ${name}`);
    await db.query('drop index if exists events_feed');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
