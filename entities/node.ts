import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';

export type NodeStatus = 'active' | 'inactive';

/** A node of an Environment's tree. Every Environment has a root; an organization is a node of type `organization`. */
@Entity('nodes')
@Index('nodes_one_root', ['environmentId'], { unique: true, where: 'parent_node_id is null' })
@Index('nodes_slug', ['parentNodeId', 'slug'], { unique: true })
@Index('nodes_account', ['accountId'])
@Index('nodes_by_age', ['environmentId', 'createdAt', 'id'])
@Index('nodes_by_name', ['environmentId', 'name', 'id'])
@Index('nodes_by_slug', ['environmentId', 'slug', 'id'])
@Index('nodes_organizations_by_slug', ['environmentId', 'slug'], { where: `node_type = 'organization'` })
@Index('nodes_inactive', ['id'], { where: `status = 'inactive'` })
@Index('nodes_path_gin', { synchronize: false })
@Index('nodes_organizations_by_age', { synchronize: false })
@Index('nodes_organizations_by_name', { synchronize: false })
@Index('nodes_organizations_trigrams', { synchronize: false })
@Index('nodes_text', { synchronize: false })
@Check('nodes_status', `status in ('active', 'inactive')`)
@Check('nodes_root', `(parent_node_id is null) = (node_type = 'root')`)
@Check('nodes_path', 'path[cardinality(path)] = id')
export class Node {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'nodes_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @Column('uuid') applicationId!: string;
  @ForeignKey(() => Environment, { name: 'nodes_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  environmentId!: string;
  @ForeignKey(() => Node, { name: 'nodes_parent_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  parentNodeId!: string | null;
  @Column('text') nodeType!: string;
  @Column('text') name!: string;
  @Column('text', { nullable: true }) description!: string | null;
  @Column('text') slug!: string;
  @Column('text') status!: NodeStatus;
  @Column('jsonb') metadata!: object;
  /** The ids from the root to the node itself, which is last. */
  @Column('uuid', { array: true }) path!: string[];
  @Column('integer') version!: number;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') updatedAt!: Date;
}
