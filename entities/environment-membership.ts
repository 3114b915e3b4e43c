import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { Identity } from './identity.js';

/** An Identity's membership in an Environment. */
@Entity('environment_memberships')
@Index('environment_memberships_one_per_identity', ['environmentId', 'identityId'], { unique: true })
@Index('environment_memberships_in_order', { synchronize: false })
@Index('environment_memberships_inactive', { synchronize: false })
@Index('environment_memberships_identity', ['identityId'])
@Index('environment_memberships_directory', { synchronize: false })
export class EnvironmentMembership {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'environment_memberships_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'environment_memberships_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @ForeignKey(() => Identity, { name: 'environment_memberships_identity_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  identityId!: string;
  @Column('boolean') isActive!: boolean;
  /** The organization whose directory deactivated it and has stopped provisioning it, and so may activate it again. */
  @Column('uuid', { nullable: true }) keptOutBy!: string | null;
  /** Until when failed sign-ins lock it, for display: the lock itself counts by address (`domain/logins/attempts`). */
  @Column('timestamptz', { nullable: true }) lockedUntil!: Date | null;
  @Column('timestamptz') createdAt!: Date;
}
