import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A platform admin: a person who operates Accounts. The address is unique across all Accounts. */
@Entity('users')
@Index('users_email', ['email'], { unique: true })
export class User {
  @PrimaryColumn('uuid') id!: string;
  @Column('citext') email!: string;
  @Column('text') firstName!: string;
  @Column('text') lastName!: string;
  @Column('text', { nullable: true }) passwordHash!: string | null;
  @Column('timestamptz', { nullable: true }) passwordChangedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) mfaResetAt!: Date | null;
  @Column('timestamptz', { nullable: true }) emailVerifiedAt!: Date | null;
  /** When the person last moved to another address (docs/decisions/0107). */
  @Column('timestamptz', { nullable: true }) emailChangedAt!: Date | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') updatedAt!: Date;
}
