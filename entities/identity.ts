import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';

/** An end user, one per address and Account; which Environments it may enter says EnvironmentMembership. */
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
  /** Whether a key or an administrator has said so, and what they may know of it is good still. */
  @Column('boolean', { default: false }) verifiedByWord!: boolean;
  @Column('text', { nullable: true }) firstName!: string | null;
  @Column('text', { nullable: true }) lastName!: string | null;
  @Column('text', { nullable: true }) avatarUrl!: string | null;
  @Column('text', { nullable: true }) externalId!: string | null;
  @Column('jsonb') metadata!: object;
  @Column('text', { nullable: true }) passwordHash!: string | null;
  @Column('timestamptz', { nullable: true }) passwordChangedAt!: Date | null;
  /** Counts up with each new set of recovery codes; 0 where there was none yet. */
  @Column('integer', { default: 0 }) recoveryCodesGeneration!: number;
  @Column('timestamptz', { nullable: true }) mfaAdminResetAt!: Date | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') updatedAt!: Date;
}
