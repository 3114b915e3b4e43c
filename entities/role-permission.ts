import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { Permission } from './permission.js';
import { Role } from './role.js';

@Entity('role_permissions')
@Index('role_permissions_permission', ['permissionId'])
@Index('role_permissions_account', ['accountId'])
@Index('role_permissions_environment', ['environmentId'])
export class RolePermission {
  @ForeignKey(() => Role, { name: 'role_permissions_role_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  roleId!: string;
  @ForeignKey(() => Permission, { name: 'role_permissions_permission_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  permissionId!: string;
  @ForeignKey(() => Account, { name: 'role_permissions_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'role_permissions_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
}
