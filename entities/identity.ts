import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';

/** An end user, one per address and Account; `EnvironmentMembership` says which Environments it may enter. */
@Entity('identities')
@Index('identities_email', ['accountId', 'email'], { unique: true })
@Index('identities_by_age', ['accountId', 'createdAt', 'id'])
@Index('identities_by_first_name', ['accountId', 'firstName', 'id'])
@Index('identities_by_last_name', ['accountId', 'lastName', 'id'])
@Index('identities_text_of_account', { synchronize: false })
@Index('identities_external_id', ['accountId', 'externalId'], { unique: true })
export class Identity {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'identities_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @Column('citext') email!: string;
  @Column('timestamptz', { nullable: true }) emailVerifiedAt!: Date | null;
  /** Whether only a key or an administrator vouches for the address, and credentials that they may know still work. */
  @Column('boolean', { default: false }) verifiedByWord!: boolean;
  @Column('text', { nullable: true }) firstName!: string | null;
  @Column('text', { nullable: true }) lastName!: string | null;
  @Column('text', { nullable: true }) avatarUrl!: string | null;
  @Column('text', { nullable: true }) externalId!: string | null;
  @Column('jsonb') metadata!: object;
  @Column('text', { nullable: true }) passwordHash!: string | null;
  @Column('timestamptz', { nullable: true }) passwordChangedAt!: Date | null;
  /** Incremented with each new set of recovery codes; 0 if there was none yet. */
  @Column('integer', { default: 0 }) recoveryCodesGeneration!: number;
  @Column('timestamptz', { nullable: true }) mfaAdminResetAt!: Date | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') updatedAt!: Date;
}
