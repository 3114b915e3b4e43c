import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** How far the events' keeping has come; one row. Only the owner's functions write it. */
@Entity('event_state')
@Check('event_state_one', 'id')
export class EventState {
  @PrimaryColumn('boolean') id!: true;
  /** Events of transactions below this one are in `event_counts`. */
  @Column('bigint') countedBelow!: string;
  /** The latest transaction of an event that was dropped: who has read less may have missed something. */
  @Column('bigint') droppedThrough!: string;
}

/** Every event of a later transaction than this one was written after `at`. */
@Entity('event_marks')
export class EventMark {
  @PrimaryColumn('bigint') transactionId!: string;
  @Column('timestamptz') at!: Date;
}

/** The months that there are tables for. */
@Entity('event_partitions')
export class EventPartition {
  @PrimaryColumn('text') name!: string;
  @Column('timestamptz') startsAt!: Date;
  @Column('timestamptz') endsAt!: Date;
}
