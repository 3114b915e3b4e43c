import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A known place in an Environment's list of members by age. The member there may have left. */
@Entity('member_waymarks')
@Index('member_waymarks_in_order', ['environmentId', 'rank'])
export class MemberWaymark {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') accountId!: string;
  @Column('uuid') environmentId!: string;
  /** How many members came before this place when it was set. */
  @Column('bigint') rank!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('uuid') identityId!: string;
}
