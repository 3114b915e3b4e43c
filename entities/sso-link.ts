import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Identity } from './identity.js';
import { SsoConnection } from './sso-connection.js';
import { User } from './user.js';

/** Links a person at an identity provider to an Identity here, or to a User for administrators. */
@Entity('sso_links')
@Index('sso_links_subject', ['connectionId', 'subject'], { unique: true })
@Index('sso_links_identity', ['identityId'])
@Index('sso_links_user', ['userId'])
@Index('sso_links_account', ['accountId'])
@Check('sso_links_whom', `(identity_id is null) <> (user_id is null)`)
export class SsoLink {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'sso_links_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => SsoConnection, { name: 'sso_links_connection_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  connectionId!: string;
  /** The provider's name for the person: SAML's NameID with its qualifiers, or OpenID Connect's `sub`. */
  @Column('text') subject!: string;
  @ForeignKey(() => Identity, { name: 'sso_links_identity_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  identityId!: string | null;
  @ForeignKey(() => User, { name: 'sso_links_user_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  userId!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') lastLoginAt!: Date;
}
