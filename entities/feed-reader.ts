import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Environments whose change feed somebody waits at; only their events ring the bell. */
@Entity('feed_readers')
export class FeedReader {
  @PrimaryColumn('uuid') environmentId!: string;
  @Column('timestamptz') until!: Date;
}
