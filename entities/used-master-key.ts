import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A master key that was the first one of some process: what it has encrypted may be anywhere. Nothing of the key can be told from it. */
@Entity('used_master_keys')
export class UsedMasterKey {
  @PrimaryColumn('text') id!: string;
  @Column('bytea') checkValue!: Buffer;
  @Column('timestamptz') usedSince!: Date;
}
