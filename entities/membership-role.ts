import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { AdministratorRole } from './administrator-role.js';
import { Membership } from './membership.js';

/** Where a role applies. An Application stands for all its Environments; a deleted place grants nothing. */
export interface RoleLimits {
  application_ids: string[];
  environment_ids: string[];
  node_ids: string[];
}

/** A role that a member holds, in the whole Account or within limits. */
@Entity('membership_roles')
@Index('membership_roles_role', ['roleId'])
export class MembershipRole {
  @ForeignKey(() => Membership, { name: 'membership_roles_membership_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  membershipId!: string;
  @ForeignKey(() => AdministratorRole, { name: 'membership_roles_role_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  roleId!: string;
  @ForeignKey(() => Account, { name: 'membership_roles_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @Column('jsonb', { nullable: true }) limits!: RoleLimits | null;
}
