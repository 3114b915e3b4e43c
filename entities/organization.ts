import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { Node } from './node.js';

/** How members of an organization may sign in; null: as in the Environment. */
export interface AuthenticationPolicy {
  allowed_methods: ('password' | 'email_otp' | 'passkey' | 'sso')[] | null;
  require_mfa: boolean;
  require_sso: boolean;
  session_ttl_seconds: number | null;
}

/** What a node of type `organization` has in addition to other nodes. */
@Entity('organizations')
@Index('organizations_account', ['accountId'])
@Index('organizations_environment', ['environmentId'])
export class Organization {
  @ForeignKey(() => Node, { name: 'organizations_node_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  id!: string;
  @ForeignKey(() => Account, { name: 'organizations_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'organizations_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  /** Updated in the transaction of each change. */
  @Column('integer') memberCount!: number;
  @Column('integer') pendingInviteCount!: number;
  @Column('jsonb') authenticationPolicy!: AuthenticationPolicy;
  @Column('integer') authenticationPolicyVersion!: number;
}
