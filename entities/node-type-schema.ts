import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';

/** One kind of node. `can_be_root`: it may be directly below the root (contract §10). */
export interface NodeType {
  key: string;
  name: string;
  description: string | null;
  allowed_parents: string[];
  can_be_root: boolean;
  /** The JSON Schema for the metadata of nodes of this type. */
  metadata_schema: object | null;
  icon: string | null;
}

/** Which nodes an Environment's tree may have. Changes of the tree's shape lock this row. */
@Entity('node_type_schemas')
@Index('node_type_schemas_account', ['accountId'])
export class NodeTypeSchema {
  @ForeignKey(() => Environment, { name: 'node_type_schemas_environment_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  environmentId!: string;
  @ForeignKey(() => Account, { name: 'node_type_schemas_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @Column('integer') version!: number;
  /** The most levels below the root. */
  @Column('integer') maxDepth!: number;
  @Column('jsonb') nodeTypes!: NodeType[];
  @Column('timestamptz') updatedAt!: Date;
}
