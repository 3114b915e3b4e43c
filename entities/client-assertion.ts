import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A used `private_key_jwt` assertion, kept until it expires so that it cannot be used again (RFC 7523 §3). */
@Entity('client_assertions')
@Index('client_assertions_expiry', ['expiresAt'])
export class ClientAssertion {
  @PrimaryColumn('text') clientId!: string;
  @PrimaryColumn('bytea') jtiHash!: Buffer;
  @Column('timestamptz') expiresAt!: Date;
}
