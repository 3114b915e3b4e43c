import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** What is counted: a table, where a name says no more; of an Environment's members those who are not active. */
export type RowCountList =
  | 'identities'
  | 'inactive_identities'
  | 'administrator_invites'
  | 'erasures'
  | 'environment_removals'
  | 'identity_invites_activate'
  | 'identity_invites_directory'
  | 'identity_invites_organization'
  | 'mfa_graces'
  | 'role_assignment_windows'
  | 'api_keys'
  | 'scim_groups'
  | 'scim_tokens'
  | 'sso_connections'
  | 'sso_domains'
  | 'emails'
  | 'webhook_deliveries';

/**
 * A part of how many rows a list has; the total is the sum of its parts. Only the owner's triggers write it, each change to a part
 * that nobody else holds. What a row is not of, an Environment or an owner, is the nil UUID.
 */
@Entity('row_counts')
@Index('row_counts_of_list', ['accountId', 'list', 'environmentId', 'ownerId'])
export class RowCount {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') accountId!: string;
  @Column('text') list!: RowCountList;
  @Column('uuid') environmentId!: string;
  /** Of deliveries the webhook, of groups the directory. */
  @Column('uuid') ownerId!: string;
  @Column('bigint') value!: string;
}
