import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Application } from './application.js';
import { Environment } from './environment.js';

/** A named set of permissions. A system role has a `systemKey` and cannot be changed. */
@Entity('roles')
@Index('roles_name', ['environmentId', 'name'], { unique: true })
@Index('roles_system_key', ['environmentId', 'systemKey'], { unique: true })
@Index('roles_account', ['accountId'])
@Index('roles_application', ['applicationId'])
export class Role {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'roles_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Application, { name: 'roles_application_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  applicationId!: string;
  @ForeignKey(() => Environment, { name: 'roles_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @Column('citext') name!: string;
  @Column('text', { nullable: true }) description!: string | null;
  @Column('text', { nullable: true }) systemKey!: string | null;
  @Column('boolean') isActive!: boolean;
  @Column('integer') version!: number;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') updatedAt!: Date;
}
