import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Application } from './application.js';

export type EnvironmentType = 'development' | 'production';

/** The scope of credentials, identities and OAuth clients; Environments share none of these. */
@Entity('environments')
@Index('environments_slug', ['applicationId', 'slug'], { unique: true })
@Index('environments_account', ['accountId'])
@Check('environments_type', `type in ('development', 'production')`)
export class Environment {
  @PrimaryColumn('uuid') id!: string;
  /**
   * Null, like `applicationId`, during its removal: it then belongs to nobody and is not found (docs/decisions/0042).
   */
  @ForeignKey(() => Account, { name: 'environments_account_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  accountId!: string;
  @ForeignKey(() => Application, { name: 'environments_application_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  applicationId!: string;
  @Column('text') name!: string;
  @Column('text') slug!: string;
  @Column('text') type!: EnvironmentType;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') updatedAt!: Date;
}
