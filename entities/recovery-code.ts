import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Identity } from './identity.js';

/** One of the codes with which an Identity that has lost its factors can sign in. Older generations are deleted. */
@Entity('recovery_codes')
@Index('recovery_codes_code', ['identityId', 'codeHash'], { unique: true })
export class RecoveryCode {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') accountId!: string;
  @ForeignKey(() => Identity, { name: 'recovery_codes_identity_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  identityId!: string;
  @Column('integer') generation!: number;
  @Column('bytea') codeHash!: Buffer;
  /** argon2id's parameters and the set's salt: a PHC string without its digest. Null: SHA-256, as in older sets. */
  @Column('text', { nullable: true }) hashParameters!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz', { nullable: true }) usedAt!: Date | null;
}
