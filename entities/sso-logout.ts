import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { SsoConnection } from './sso-connection.js';

/** A sign-out that the person's browser continues at their identity providers, one after the other. */
@Entity('sso_logouts')
@Index('sso_logouts_link', ['linkHash'], { unique: true })
@Index('sso_logouts_state', ['stateHash'], { unique: true })
@Index('sso_logouts_connection', ['connectionId'])
@Index('sso_logouts_expiry', ['expiresAt'])
export class SsoLogout {
  /** Also the LogoutRequest's `ID`, after an underscore. */
  @PrimaryColumn('uuid') id!: string;
  /** Hash of the token of the link that starts the logout, which works once. */
  @Column('bytea') linkHash!: Buffer;
  /** The `sso_sessions` that still have to be ended. */
  @Column('uuid', { array: true }) ssoSessionIds!: string[];
  /** Where the browser continues afterwards. */
  @Column('jsonb') onward!: Record<string, string>;
  /** The connection whose provider the browser is at. */
  @ForeignKey(() => SsoConnection, { name: 'sso_logouts_connection_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  connectionId!: string | null;
  /** Hash of the `state` or `RelayState` that the browser took along. */
  @Column('bytea', { nullable: true }) stateHash!: Buffer | null;
  /** Hash of the cookie of the browser that used the link. */
  @Column('bytea', { nullable: true }) browserHash!: Buffer | null;
  /** When the provider's answer arrived. */
  @Column('timestamptz', { nullable: true }) answeredAt!: Date | null;
  /** Why it is unknown whether a logout at a provider succeeded; kept until the end. */
  @Column('text', { nullable: true }) refusal!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
}
