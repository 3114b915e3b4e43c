import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { SsoConnection } from './sso-connection.js';

/** Somebody who has signed out here, and whose browser leaves their identity providers too, one after the other. */
@Entity('sso_logouts')
@Index('sso_logouts_link', ['linkHash'], { unique: true })
@Index('sso_logouts_state', ['stateHash'], { unique: true })
@Index('sso_logouts_connection', ['connectionId'])
@Index('sso_logouts_expiry', ['expiresAt'])
export class SsoLogout {
  /** Also the LogoutRequest's `ID`, after an underscore. */
  @PrimaryColumn('uuid') id!: string;
  /** Hash of the token of the link that begins it, which works once. */
  @Column('bytea') linkHash!: Buffer;
  /** The `sso_sessions` that are still to be left. */
  @Column('uuid', { array: true }) ssoSessionIds!: string[];
  /** Where the person was going. */
  @Column('jsonb') onward!: Record<string, string>;
  /** Whose provider the browser is at. */
  @ForeignKey(() => SsoConnection, { name: 'sso_logouts_connection_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  connectionId!: string | null;
  /** Hash of the `state` or `RelayState` that it has with it. */
  @Column('bytea', { nullable: true }) stateHash!: Buffer | null;
  /** Hash of the cookie of the browser that used the link. */
  @Column('bytea', { nullable: true }) browserHash!: Buffer | null;
  /** When the provider's answer came. */
  @Column('timestamptz', { nullable: true }) answeredAt!: Date | null;
  /** Why nobody knows whether the person has left a provider; stays until the end. */
  @Column('text', { nullable: true }) refusal!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
}
