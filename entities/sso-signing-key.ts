import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { SsoConnection } from './sso-connection.js';

/** The key that signs our SAML messages to a connection's provider: one per connection, so customers share none. */
@Entity('sso_signing_keys')
@Index('sso_signing_keys_account', ['accountId'])
export class SsoSigningKey {
  @ForeignKey(() => SsoConnection, { name: 'sso_signing_keys_connection_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  connectionId!: string;
  @ForeignKey(() => Account, { name: 'sso_signing_keys_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  /** Self-signed, in PEM. */
  @Column('text') certificate!: string;
  @Column('text') privateKeySealed!: string;
  @Column('timestamptz') createdAt!: Date;
}
