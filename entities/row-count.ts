import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** What is counted: the rows of a table of that name, or a part of them; `inactive_identities`: inactive members. */
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
 * A part of the number of rows in a list; the total is the sum of its parts. Only the owner's triggers write it; each
 * change updates a part that no other transaction has locked. An absent Environment or owner is the nil UUID.
 */
@Entity('row_counts')
@Index('row_counts_of_list', ['accountId', 'list', 'environmentId', 'ownerId'])
export class RowCount {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') accountId!: string;
  @Column('text') list!: RowCountList;
  @Column('uuid') environmentId!: string;
  /** For deliveries the webhook, for groups the directory. */
  @Column('uuid') ownerId!: string;
  @Column('bigint') value!: string;
}
