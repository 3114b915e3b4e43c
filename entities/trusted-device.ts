import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Identity } from './identity.js';

/** A browser in which an Identity needs no second factor for a while (contract §2, `trusted_device`). */
@Entity('trusted_devices')
@Index('trusted_devices_device', ['deviceHash', 'environmentId', 'identityId'], { unique: true })
@Index('trusted_devices_identity', ['identityId', 'environmentId'])
@Index('trusted_devices_expiry', ['expiresAt'])
export class TrustedDevice {
  @PrimaryColumn('uuid') id!: string;
  /** No foreign key, nor for the Environment: what a sign-in writes locks neither of them (docs/decisions/0112). */
  @Column('uuid') accountId!: string;
  @Column('uuid') environmentId!: string;
  @ForeignKey(() => Identity, { name: 'trusted_devices_identity_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  identityId!: string;
  /** Hash of the `trusted_device` cookie; one cookie serves all Environments and Identities of a browser. */
  @Column('bytea') deviceHash!: Buffer;
  @Column('text', { nullable: true }) userAgent!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') lastUsedAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
}
