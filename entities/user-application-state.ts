import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Application } from './application.js';
import { Environment } from './environment.js';
import { User } from './user.js';

/** The Environment of an Application that an admin last looked at. */
@Entity('user_application_states')
@Index('user_application_states_application', ['applicationId'])
@Index('user_application_states_environment', ['environmentId'])
export class UserApplicationState {
  @ForeignKey(() => User, { name: 'user_application_states_user_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  userId!: string;
  @ForeignKey(() => Application, { name: 'user_application_states_application_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  applicationId!: string;
  @ForeignKey(() => Account, { name: 'user_application_states_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'user_application_states_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @Column('timestamptz') updatedAt!: Date;
}
