import { Type } from 'typebox';
import { type SsoDomain, ssoDomainReasons, ssoDomainStatuses } from '../../../entities/sso-domain.js';
import { processOfDomain } from '../../domain/processes/kind-sso-domain.js';
import { recordOf } from '../../domain/sso-domains/challenge.js';
import { listQuery } from '../surfaces/lists.js';
import { Body, Growing, Id, Nullable, OneOf, Resource, Timestamp } from '../surfaces/schemas.js';
import { type Presenting, ProcessOfResource, presentProcess } from './process-of-resource.js';

export const SsoDomainView = Resource('SsoDomain', {
  id: Id,
  domain: Type.String({ description: 'In lower case, with A-labels and without `www.`.' }),
  status: OneOf(ssoDomainStatuses, {
    description: '`lapsed`: was verified, but its record has been missing for three days.',
  }),
  txt_record_name: Type.String({ description: 'The name of the TXT record.' }),
  txt_record_value: Type.String({ description: 'One of the TXT records there must have this value.' }),
  verified_at: Nullable(Timestamp),
  last_checked_at: Nullable(Timestamp),
  next_check_at: Nullable(Timestamp),
  failure_reason: Nullable(
    Growing(
      ssoDomainReasons,
      'Why the latest check did not confirm the claim, or why the claim has failed. Null if there is nothing to report.',
    ),
  ),
  created_at: Timestamp,
  process: ProcessOfResource,
});

export const presentSsoDomain =
  ({ accountProcesses }: Presenting) =>
  (claim: SsoDomain) => {
    const { name, value } = recordOf(claim);
    return {
      id: claim.id,
      domain: claim.domain,
      status: claim.status,
      txt_record_name: name,
      txt_record_value: value,
      verified_at: claim.verifiedAt,
      last_checked_at: claim.lastCheckedAt,
      next_check_at: claim.nextCheckAt,
      failure_reason: claim.failureReason,
      created_at: claim.createdAt,
      process: presentProcess(accountProcesses.of(processOfDomain(claim))),
    };
  };

export const SsoDomainsQuery = listQuery(['created_at', 'domain'], { status: Type.Optional(OneOf(ssoDomainStatuses)) });

/** A domain, or a pasted text that contains it. */
export const NewSsoDomain = Body({
  domain: Type.String({ minLength: 1, maxLength: 2048, description: 'A hostname, or a URL with one.' }),
});
/** A domain in a path; a longer one cannot exist. */
export const Domain = Type.String({ minLength: 1, maxLength: 300 });

/** The codes with which a claim is refused. */
export const claimRefusals = [
  'sso_domain.limit_reached',
  'sso_domain.malformed',
  'sso_domain.public_provider',
  'sso_domain.public_suffix',
  'validation.failed',
] as const;

export const howItIsProved =
  'Publish the TXT record in the response. It is checked automatically: every minute for ten minutes, every five ' +
  'minutes for an hour, hourly for three days, and every six hours until day 30; then the claim fails.';
export const howItIsClaimed =
  'Idempotent: for a domain that is claimed already, the same claim and token are returned; a failed claim is checked ' +
  'again. Public email providers and public suffixes are refused.';
export const whatVerifyDoes =
  'Queries the name servers of the domain immediately, whatever the status; the response has the resulting state of ' +
  'the claim. If the record was published a moment ago, some name servers of the domain may not have it yet.';
