import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * A master key that was some process's first: what it encrypted may be anywhere. The row reveals nothing of the key.
 */
@Entity('used_master_keys')
export class UsedMasterKey {
  @PrimaryColumn('text') id!: string;
  @Column('bytea') checkValue!: Buffer;
  @Column('timestamptz') usedSince!: Date;
}
