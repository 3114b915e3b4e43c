import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';

/** A product of an Account; it owns Environments. */
@Entity('applications')
@Index('applications_slug', ['accountId', 'slug'], { unique: true })
export class Application {
  @PrimaryColumn('uuid') id!: string;
  /** Null while its contents are removed: it then belongs to nobody and is not found (docs/decisions/0042). */
  @ForeignKey(() => Account, { name: 'applications_account_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  accountId!: string;
  @Column('text') name!: string;
  @Column('text') slug!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') updatedAt!: Date;
}
