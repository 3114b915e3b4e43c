import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A sealed token that works once and was used, kept until it would have expired. */
@Entity('spent_tokens')
@Index('spent_tokens_expiry', ['expiresAt'])
export class SpentToken {
  @PrimaryColumn('bytea') tokenHash!: Buffer;
  @Column('timestamptz') expiresAt!: Date;
}
