import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The first response to a write with an `Idempotency-Key`, kept for 24 hours per credential. */
@Entity('idempotent_requests')
@Index('idempotent_requests_expiry', ['expiresAt'])
export class IdempotentRequest {
  @PrimaryColumn('text') credential!: string;
  @PrimaryColumn('text') key!: string;
  /** Hash of the request as it was sent. It is keyed, since a body can hold a password. */
  @Column('bytea') requestHash!: Buffer;
  /** Hash of its meaning: members of objects sorted, the version as a number. Null if an older release wrote it. */
  @Column('bytea', { nullable: true }) canonicalHash!: Buffer | null;
  /** The id of the master key of both hashes; null for a plain hash of an older release. */
  @Column('text', { nullable: true }) requestKeyId!: string | null;
  /** Null while the first request is still running. */
  @Column('integer', { nullable: true }) statusCode!: number | null;
  @Column('jsonb', { nullable: true }) headers!: Record<string, string> | null;
  @Column('text', { nullable: true }) bodySealed!: string | null;
  /** After this, a request without a response counts as crashed and may run again. */
  @Column('timestamptz') lockedUntil!: Date;
  @Column('timestamptz') expiresAt!: Date;
}
