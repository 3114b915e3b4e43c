import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { SsoConnection } from './sso-connection.js';

/** What signs our SAML messages to a connection's provider: its own key, so that it is no other customer's business. */
@Entity('sso_signing_keys')
@Index('sso_signing_keys_account', ['accountId'])
export class SsoSigningKey {
  @ForeignKey(() => SsoConnection, { name: 'sso_signing_keys_connection_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  connectionId!: string;
  @ForeignKey(() => Account, { name: 'sso_signing_keys_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  /** In PEM, signed by the key itself. */
  @Column('text') certificate!: string;
  @Column('text') privateKeySealed!: string;
  @Column('timestamptz') createdAt!: Date;
}
