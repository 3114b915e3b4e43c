import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { User } from './user.js';

/**
 * A mailed link with which a platform admin sets a password. Only a user's newest link is valid, once, until it expires
 * or the password is changed in another way.
 */
@Entity('password_links')
@Index('password_links_token', ['tokenHash'], { unique: true })
@Index('password_links_user', ['userId'])
@Index('password_links_expiry', ['expiresAt'])
@Check('password_links_purpose', `purpose in ('reset', 'set')`)
export class PasswordLink {
  @PrimaryColumn('uuid') id!: string;
  /** Null for an unknown address: a request costs the same for every address. */
  @ForeignKey(() => User, { name: 'password_links_user_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  userId!: string | null;
  /** `set` if the user has no password yet. */
  @Column('text') purpose!: 'reset' | 'set';
  @Column('text') locale!: 'en' | 'de';
  @Column('bytea') tokenHash!: Buffer;
  /** The id of the master key from which the link is derived. */
  @Column('text') tokenKeyId!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) usedAt!: Date | null;
}
