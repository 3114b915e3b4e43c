import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { User } from './user.js';

/** One of the codes with which a platform admin who has lost all factors can sign in. Older generations are deleted. */
@Entity('user_recovery_codes')
@Index('user_recovery_codes_code', ['userId', 'codeHash'], { unique: true })
export class UserRecoveryCode {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => User, { name: 'user_recovery_codes_user_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  userId!: string;
  @Column('integer') generation!: number;
  @Column('bytea') codeHash!: Buffer;
  /** argon2id's parameters and the set's salt: a PHC string without its digest. Null: SHA-256, as in older sets. */
  @Column('text', { nullable: true }) hashParameters!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz', { nullable: true }) usedAt!: Date | null;
}
