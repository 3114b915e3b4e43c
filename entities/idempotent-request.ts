import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The first answer to a write that carried an `Idempotency-Key`, kept 24 hours per credential. */
@Entity('idempotent_requests')
@Index('idempotent_requests_expiry', ['expiresAt'])
export class IdempotentRequest {
  @PrimaryColumn('text') credential!: string;
  @PrimaryColumn('text') key!: string;
  /** Of the request as it was sent. Keyed: a body can hold a password. */
  @Column('bytea') requestHash!: Buffer;
  /** Of what it means: members of objects in order, the version as a number. Null of what a release before has kept. */
  @Column('bytea', { nullable: true }) canonicalHash!: Buffer | null;
  /** The master key of both; null of a plain hash, as releases before made it. */
  @Column('text', { nullable: true }) requestKeyId!: string | null;
  /** Null while the first request is still running. */
  @Column('integer', { nullable: true }) statusCode!: number | null;
  @Column('jsonb', { nullable: true }) headers!: Record<string, string> | null;
  @Column('text', { nullable: true }) bodySealed!: string | null;
  /** After this a request without an answer counts as crashed and may run again. */
  @Column('timestamptz') lockedUntil!: Date;
  @Column('timestamptz') expiresAt!: Date;
}
