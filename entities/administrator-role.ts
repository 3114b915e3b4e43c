import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';

export type AdministratorRoleKey = 'owner' | 'admin' | 'developer' | 'support' | 'viewer';

/** A named set of capabilities in an Account. Built-in roles have a key; code, not data, defines what they may do. */
@Entity('administrator_roles')
@Index('administrator_roles_name', ['accountId', 'name'], { unique: true })
@Index('administrator_roles_system_key', ['accountId', 'systemKey'], { unique: true })
export class AdministratorRole {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'administrator_roles_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @Column('text') name!: string;
  /** The text of a built-in role is in code, like its capabilities. */
  @Column('text', { nullable: true }) description!: string | null;
  @Column('text', { nullable: true }) systemKey!: AdministratorRoleKey | null;
  @Column('text', { array: true }) capabilities!: string[];
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz', { default: () => 'now()' }) updatedAt!: Date;
}
