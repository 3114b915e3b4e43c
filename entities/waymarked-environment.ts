import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { Environment } from './environment.js';

/** An Environment in whose list of members there are waymarks, and whose members' leaving is noted therefore. The owner's functions write it. */
@Entity('waymarked_environments')
export class WaymarkedEnvironment {
  @ForeignKey(() => Environment, { name: 'waymarked_environments_environment_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  environmentId!: string;
  @Column('uuid') accountId!: string;
  /** Since when who leaves is noted. */
  @Column('timestamptz') markedAt!: Date;
  /** How many there were when its waymarks were set; null before. */
  @Column('bigint', { nullable: true }) members!: string | null;
}
