import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** How far events have been counted and dropped; one row. Only the owner's functions write it. */
@Entity('event_state')
@Check('event_state_one', 'id')
export class EventState {
  @PrimaryColumn('boolean') id!: true;
  /** Events of lower transaction ids are in `event_counts`. */
  @Column('bigint') countedBelow!: string;
  /** The latest transaction of a dropped event: a reader that has not come so far may have missed events. */
  @Column('bigint') droppedThrough!: string;
}

/** Every event with a higher transaction id was written after `at`. */
@Entity('event_marks')
export class EventMark {
  @PrimaryColumn('bigint') transactionId!: string;
  @Column('timestamptz') at!: Date;
}

/** The months that have tables. */
@Entity('event_partitions')
export class EventPartition {
  @PrimaryColumn('text') name!: string;
  @Column('timestamptz') startsAt!: Date;
  @Column('timestamptz') endsAt!: Date;
}
