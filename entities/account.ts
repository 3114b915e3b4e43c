import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A customer of the service: it owns Applications and has administrators. */
@Entity('accounts')
@Index('accounts_slug', ['slug'], { unique: true })
export class Account {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') name!: string;
  @Column('text') slug!: string;
  /** Whether administrators need a second factor for everything they do in this Account. */
  @Column('boolean', { default: false }) requireMfa!: boolean;
  /** Whether administrators, except Owners, get in only by the Account's own identity provider. */
  @Column('boolean', { default: false }) requireSso!: boolean;
  /** When it was closed: from then on nobody can reach it, and its remains are deleted (docs/decisions/0088). */
  @Column('timestamptz', { nullable: true }) closedAt!: Date | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') updatedAt!: Date;
}
