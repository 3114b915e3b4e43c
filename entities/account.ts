import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A customer of the service: owns Applications, has administrators. */
@Entity('accounts')
@Index('accounts_slug', ['slug'], { unique: true })
export class Account {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') name!: string;
  @Column('text') slug!: string;
  /** Whether its administrators need a second factor for everything they do in it. */
  @Column('boolean', { default: false }) requireMfa!: boolean;
  /** It is nobody's from then on, and what is left of it goes (docs/decisions/0088). */
  @Column('timestamptz', { nullable: true }) closedAt!: Date | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') updatedAt!: Date;
}
