import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Environment } from './environment.js';
import { Identity } from './identity.js';

/** What a person has allowed a client that asks for consent (OpenID Connect Core 3.1.2.4), until they withdraw it. */
@Entity('consents')
@Index('consents_client', ['oauthClientId'])
@Index('consents_environment', ['environmentId'])
export class Consent {
  @ForeignKey(() => Identity, { name: 'consents_identity_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'consents_pkey' })
  identityId!: string;
  /** No foreign key: deleting a client does not wait for the deletion of all that it has issued (`RemovedClient`). */
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'consents_pkey' })
  oauthClientId!: string;
  @Column('uuid') accountId!: string;
  @ForeignKey(() => Environment, { name: 'consents_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @Column('text', { array: true }) scope!: string[];
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') updatedAt!: Date;
}
