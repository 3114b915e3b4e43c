import { Type } from 'typebox';
import { type SsoDomain, ssoDomainReasons, ssoDomainStatuses } from '../../../entities/sso-domain.js';
import { standingOfDomain } from '../../domain/processes/kind-sso-domain.js';
import { recordOf } from '../../domain/sso/challenge.js';
import { listQuery } from '../lists.js';
import { Body, Id, Nullable, OneOf, Resource, Timestamp } from '../schemas.js';
import { type Presenting, ProcessOfResource, presentProcess } from './process-of-resource.js';

export const SsoDomainView = Resource('SsoDomain', {
  id: Id,
  domain: Type.String({ description: 'In lower case and A-labels, without `www.`.' }),
  status: OneOf(ssoDomainStatuses, {
    description: '`lapsed`: was verified, and its record has been missed for three days.',
  }),
  txt_record_name: Type.String({ description: 'Where the TXT record is looked for.' }),
  txt_record_value: Type.String({ description: 'One of the TXT records there has to be this text.' }),
  verified_at: Nullable(Timestamp),
  last_checked_at: Nullable(Timestamp),
  next_check_at: Nullable(Timestamp),
  failure_reason: Nullable(
    OneOf(ssoDomainReasons, {
      description:
        'Why the latest look did not confirm it, or why it has failed. Null as long as there is nothing to say.',
    }),
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
      process: presentProcess(accountProcesses.of(standingOfDomain(claim))),
    };
  };

export const SsoDomainsQuery = listQuery(['created_at', 'domain'], { status: Type.Optional(OneOf(ssoDomainStatuses)) });

/** A domain, or something that it is pasted in. */
export const NewSsoDomain = Body({
  domain: Type.String({ minLength: 1, maxLength: 2048, description: 'A host, or a URL with one.' }),
});
/** Of a path: what is longer is found nowhere. */
export const Domain = Type.String({ minLength: 1, maxLength: 300 });

/** What a claim is refused for. */
export const claimRefusals = [
  'sso_domain.limit_reached',
  'sso_domain.malformed',
  'sso_domain.public_provider',
  'sso_domain.public_suffix',
  'validation.failed',
] as const;

export const howItIsProved =
  'Publish the TXT record that the answer names. It is looked for by itself: every minute for ten minutes, every five minutes for ' +
  'an hour, hourly for three days, and every six hours until day 30; then the claim has failed.';
export const howItIsClaimed =
  'Idempotent: a domain that is claimed already is answered with the same claim and token; a failed one is looked for anew. ' +
  'Public providers of mail and public suffixes are refused.';
export const whatVerifyDoes =
  'Asks the servers of the domain at once, whatever the status; the answer says how the claim stands then. Where the record was ' +
  'published a moment ago, the servers of the domain may not all have it yet.';
