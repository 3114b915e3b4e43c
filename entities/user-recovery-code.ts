import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { User } from './user.js';

/** One of a platform admin's codes for the day on which all factors are lost. Older generations are deleted. */
@Entity('user_recovery_codes')
@Index('user_recovery_codes_code', ['userId', 'codeHash'], { unique: true })
export class UserRecoveryCode {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => User, { name: 'user_recovery_codes_user_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  userId!: string;
  @Column('integer') generation!: number;
  @Column('bytea') codeHash!: Buffer;
  /** Of argon2id, with the salt of the set: a PHC string without its digest. Null: SHA-256, as sets of before have it. */
  @Column('text', { nullable: true }) hashParameters!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz', { nullable: true }) usedAt!: Date | null;
}
