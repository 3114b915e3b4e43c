import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A place in an Environment's members by age. Nobody need be there any more. */
@Entity('member_waymarks')
@Index('member_waymarks_in_order', ['environmentId', 'rank'])
export class MemberWaymark {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid') accountId!: string;
  @Column('uuid') environmentId!: string;
  /** How many members came before it when it was set. */
  @Column('bigint') rank!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('uuid') identityId!: string;
}
