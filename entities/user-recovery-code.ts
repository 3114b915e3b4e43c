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
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz', { nullable: true }) usedAt!: Date | null;
}
