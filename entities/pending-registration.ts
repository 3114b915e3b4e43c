import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

export type PendingRegistrationStatus = 'pending' | 'confirmed' | 'expired' | 'discarded' | 'cancelled';

/** A registration that waits for its confirmation. If it ends without one, its personal data is removed. */
@Entity('pending_registrations')
@Index('pending_registrations_token', ['tokenHash'], { unique: true })
@Index('pending_registrations_email', ['email'], { where: `status = 'pending'` })
@Index('pending_registrations_open', ['id'], { where: `status = 'pending'` })
@Index('pending_registrations_user', ['userId'], { where: 'user_id is not null' })
@Index('pending_registrations_ended', ['endedAt'], { where: 'ended_at is not null' })
@Check('pending_registrations_status', `status in ('pending', 'confirmed', 'expired', 'discarded', 'cancelled')`)
export class PendingRegistration {
  @PrimaryColumn('uuid') id!: string;
  @Column('citext', { nullable: true }) email!: string | null;
  @Column('text', { nullable: true }) passwordHash!: string | null;
  @Column('text', { nullable: true }) firstName!: string | null;
  @Column('text', { nullable: true }) lastName!: string | null;
  @Column('text', { nullable: true }) accountName!: string | null;
  @Column('text', { nullable: true }) applicationName!: string | null;
  @Column('text') locale!: 'en' | 'de';
  @Column('bytea') tokenHash!: Buffer;
  /** The id of the master key from which the link is derived. */
  @Column('text') tokenKeyId!: string;
  /** Hash of the cookie of the browser that registered: there, one click confirms (docs/decisions/0011). */
  @Column('bytea', { nullable: true }) browserHash!: Buffer | null;
  /** How often somebody tried its password. */
  @Column('integer', { default: 0 }) attempts!: number;
  /** `expired` is also computed from `expires_at` and `attempts` at every read, so a stopped worker lets nothing in. */
  @Column('text') status!: PendingRegistrationStatus;
  @Column('text', { nullable: true }) endedReason!: string | null;
  @Column('uuid', { nullable: true }) userId!: string | null;
  @Column('uuid', { nullable: true }) accountId!: string | null;
  @Column('uuid') correlationId!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
}
