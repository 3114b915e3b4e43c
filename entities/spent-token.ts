import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A used one-time sealed token, kept until it would have expired. */
@Entity('spent_tokens')
@Index('spent_tokens_expiry', ['expiresAt'])
export class SpentToken {
  @PrimaryColumn('bytea') tokenHash!: Buffer;
  @Column('timestamptz') expiresAt!: Date;
}
