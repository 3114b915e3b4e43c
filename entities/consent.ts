import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { Identity } from './identity.js';

/** What a person has allowed a client that asks for it (OpenID Connect Core 3.1.2.4), until they take it back. */
@Entity('consents')
@Index('consents_client', ['oauthClientId'])
@Index('consents_account', ['accountId'])
@Index('consents_environment', ['environmentId'])
export class Consent {
  @ForeignKey(() => Identity, { name: 'consents_identity_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'consents_pkey' })
  identityId!: string;
  /** Without a foreign key: deleting a client does not wait for all that it has given out (`RemovedClient`). */
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'consents_pkey' })
  oauthClientId!: string;
  @ForeignKey(() => Account, { name: 'consents_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'consents_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @Column('text', { array: true }) scope!: string[];
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') updatedAt!: Date;
}
