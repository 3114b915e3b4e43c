import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Application } from './application.js';
import { Environment } from './environment.js';

/** A permission in an Environment: the service's own (`system`) or one of its applications (`custom`). */
@Entity('permissions')
@Index('permissions_key', ['environmentId', 'key'], { unique: true })
@Index('permissions_account', ['accountId'])
@Index('permissions_application', ['applicationId'])
@Check('permissions_source', `source in ('system', 'custom')`)
export class Permission {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'permissions_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Application, { name: 'permissions_application_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  applicationId!: string;
  @ForeignKey(() => Environment, { name: 'permissions_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  /** `resource.action` */
  @Column('text') key!: string;
  @Column('text') name!: string;
  @Column('text', { nullable: true }) description!: string | null;
  @Column('text') category!: string;
  @Column('text') source!: 'system' | 'custom';
  @Column('integer') version!: number;
  @Column('timestamptz') createdAt!: Date;
}
