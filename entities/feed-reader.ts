import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Environments whose change feed a reader is waiting for; only their events send a notification. */
@Entity('feed_readers')
export class FeedReader {
  @PrimaryColumn('uuid') environmentId!: string;
  @Column('timestamptz') until!: Date;
}
