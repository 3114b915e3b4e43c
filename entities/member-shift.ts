import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * A member who left, or came to an earlier place, after the Environment's waymarks were set. The owner's triggers write
 * it.
 */
@Entity('member_shifts')
@Index('member_shifts_in_order', ['environmentId', 'createdAt', 'identityId'])
export class MemberShift {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') accountId!: string;
  @Column('uuid') environmentId!: string;
  /** The member's place, together with `identityId`. */
  @Column('timestamptz') createdAt!: Date;
  @Column('uuid') identityId!: string;
  @Column('smallint') change!: -1 | 1;
}
