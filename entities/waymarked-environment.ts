import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { Environment } from './environment.js';

/**
 * An Environment whose list of members has waymarks, so that it records leaving members. The owner's functions write
 * it.
 */
@Entity('waymarked_environments')
export class WaymarkedEnvironment {
  @ForeignKey(() => Environment, { name: 'waymarked_environments_environment_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  environmentId!: string;
  @Column('uuid') accountId!: string;
  /** Since when leaving members are recorded. */
  @Column('timestamptz') markedAt!: Date;
  /** How many members there were when its waymarks were set; null before. */
  @Column('bigint', { nullable: true }) members!: string | null;
}
