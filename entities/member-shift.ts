import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A member who has left, or has come to an earlier place, since the waymarks of the Environment were set. The owner's triggers write it. */
@Entity('member_shifts')
@Index('member_shifts_in_order', ['environmentId', 'createdAt', 'identityId'])
export class MemberShift {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') accountId!: string;
  @Column('uuid') environmentId!: string;
  /** The member's place. */
  @Column('timestamptz') createdAt!: Date;
  @Column('uuid') identityId!: string;
  @Column('smallint') change!: -1 | 1;
}
