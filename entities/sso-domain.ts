import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { Organization } from './organization.js';

export const ssoDomainStatuses = ['pending', 'verified', 'lapsed', 'failed'] as const;
export type SsoDomainStatus = (typeof ssoDomainStatuses)[number];

/** Why the latest check did not confirm a claim, or why the claim has ended. */
export const ssoDomainReasons = [
  'record_not_found',
  'record_mismatch',
  'dns_unavailable',
  'verified_by_another_account',
  'verified_by_another_organization',
  'cancelled_by_operator',
] as const;
export type SsoDomainReason = (typeof ssoDomainReasons)[number];

/**
 * A claim that a domain belongs to an Account, for its administrators, or to an organization, for its members. It is
 * `verified` while the domain's zone has its token; at most one claim of each kind is at a time.
 */
@Entity('sso_domains')
@Index('sso_domains_of_account', ['accountId', 'domain'], { unique: true, where: 'organization_id is null' })
@Index('sso_domains_of_organization', ['organizationId', 'domain'], { unique: true })
@Index('sso_domains_held_by_account', ['domain'], {
  unique: true,
  where: `status = 'verified' and organization_id is null`,
})
@Index('sso_domains_held_by_organization', ['environmentId', 'domain'], { unique: true, where: `status = 'verified'` })
@Index('sso_domains_account', ['accountId', 'createdAt', 'id'])
@Index('sso_domains_by_age', ['organizationId', 'createdAt', 'id'])
@Index('sso_domains_environment', ['environmentId'])
@Index('sso_domains_open', ['id'], { where: `status <> 'failed'` })
@Check('sso_domains_status', `status in ('pending', 'verified', 'lapsed', 'failed')`)
@Check('sso_domains_place', `(environment_id is null) = (organization_id is null)`)
export class SsoDomain {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'sso_domains_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  /** Set together with the organization, or not at all. */
  @ForeignKey(() => Environment, { name: 'sso_domains_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  environmentId!: string | null;
  @ForeignKey(() => Organization, { name: 'sso_domains_organization_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  organizationId!: string | null;
  /** In A-labels and lower case. */
  @Column('text') domain!: string;
  /** Published in the zone, where everybody can read it: it proves only that the claimant can write to the zone. */
  @Column('text') token!: string;
  @Column('text') status!: SsoDomainStatus;
  @Column('text', { nullable: true }) failureReason!: SsoDomainReason | null;
  /** A User, an Identity or an API key; only an id, since any of them may be deleted. */
  @Column('text') claimedByType!: 'platform_admin' | 'identity' | 'api_key';
  @Column('uuid') claimedBy!: string;
  @Column('timestamptz') createdAt!: Date;
  /** When the checks began; reset when a failed claim is made again. */
  @Column('timestamptz') startedAt!: Date;
  /** When the checks end, while it is pending or lapsed. */
  @Column('timestamptz', { nullable: true }) failsAt!: Date | null;
  @Column('timestamptz', { nullable: true }) nextCheckAt!: Date | null;
  @Column('timestamptz', { nullable: true }) lastCheckedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) lastFoundAt!: Date | null;
  /** Since when the record of a verified claim is missing. */
  @Column('timestamptz', { nullable: true }) absentSince!: Date | null;
  @Column('timestamptz', { nullable: true }) verifiedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
}
