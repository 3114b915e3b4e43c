import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { User } from './user.js';

/** A User's membership among the administrators of an Account. */
@Entity('memberships')
@Index('memberships_one_per_user', ['accountId', 'userId'], { unique: true })
@Index('memberships_user', ['userId'])
export class Membership {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'memberships_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => User, { name: 'memberships_user_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  userId!: string;
  @Column('timestamptz') createdAt!: Date;
}
