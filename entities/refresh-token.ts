import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** One token of a refresh-token family, which is a grant's (OAuth clients) or a user session's (platform admins). */
@Entity('refresh_tokens')
@Index('refresh_tokens_family', ['familyId'])
@Index('refresh_tokens_expiry', ['expiresAt'])
export class RefreshToken {
  @PrimaryColumn('bytea') tokenHash!: Buffer;
  @Column('text') kind!: 'grant' | 'user_session';
  @Column('uuid') familyId!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) spentAt!: Date | null;
  @Column('bytea', { nullable: true }) successorHash!: Buffer | null;
  /** The id of the master key from which the successor was derived, so that it can be derived again. */
  @Column('text', { nullable: true }) successorKeyId!: string | null;
}
