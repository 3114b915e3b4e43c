import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * How many settled events (`EventState`) a day had, so that no query counts rows. An application or environment that an
 * event does not have is the nil UUID. Only the owner's functions write this table.
 */
@Entity('event_counts')
export class EventCount {
  @PrimaryColumn('uuid') accountId!: string;
  @PrimaryColumn('uuid') environmentId!: string;
  @PrimaryColumn('uuid') applicationId!: string;
  /** The day in UTC. */
  @PrimaryColumn('date') day!: string;
  @PrimaryColumn('text') action!: string;
  @PrimaryColumn('text') resourceType!: string;
  @PrimaryColumn('text') category!: string;
  @PrimaryColumn('text') severity!: string;
  @PrimaryColumn('text') outcome!: string;
  @PrimaryColumn('boolean') identityVisible!: boolean;
  @Column('bigint') value!: string;
}
