import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The uses in a limit's window, in the layout of rate-limiter-flexible's store; keys are hashes of what they count. */
@Entity('rate_limits')
@Index('rate_limits_expiry', ['expire'])
export class RateLimit {
  @PrimaryColumn('varchar', { length: 255 }) key!: string;
  @Column('integer', { default: 0 }) points!: number;
  @Column('bigint', { nullable: true }) expire!: string | null;
}
