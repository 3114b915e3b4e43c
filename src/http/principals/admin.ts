import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AdminCaller } from '../../domain/caller.js';
import { DomainError, type ErrorCode } from '../../domain/errors.js';
import type { AdminSubject, AdminTokens } from '../../domain/users/admin-tokens.js';
import type { PortalAccess, PortalAccesses, PortalPath } from '../../domain/users/portal-access.js';
import type { Level } from '../operation.js';
import type { RateLimits } from '../rate-limits.js';
import type { Authorized, Refused } from '../surface.js';
import { credentialsOf } from './credentials.js';
import { refusing } from './refusing.js';

export type AuthorizedAdmin = Authorized & { caller: AdminCaller } & Pick<PortalAccess, 'capabilitiesInPart'>;

/** Platform admins, by their access token. Their session is proved alive from the database at every request. */
export interface AdminPrincipals {
  /**
   * Who calls, where no Account is named.
   * @throws DomainError auth.invalid_credentials, principal.wrong_type, auth.multiple_credentials, rate_limit.exceeded
   */
  authenticate(request: FastifyRequest, reply: FastifyReply): Promise<AdminSubject>;
  /**
   * Who calls and what they are in the Account of the request's path, in one statement. What they lack is found out before
   * what is missing: 404 outside their Accounts, then 403 for another sign-in or a second factor that the Account requires, then for a
   * capability, then 404 inside.
   * @throws DomainError auth.invalid_credentials, principal.wrong_type, auth.multiple_credentials, rate_limit.exceeded
   */
  authorize(
    request: FastifyRequest,
    reply: FastifyReply,
    level: Level,
    judging: Judging,
  ): Promise<AuthorizedAdmin | Refused>;
}

/** What whoever asks knows of the operation that is called. */
export interface Judging {
  /** What is said to whoever lacks the capability that it asks for; null to whoever does not. */
  lacking(admin: AuthorizedAdmin): DomainError | null;
  /** The refusal of a right, written down (contract §10). */
  denied(admin: AuthorizedAdmin, refusal: DomainError): Promise<DomainError>;
}

export interface AdminPrincipalsDeps {
  tokens: Pick<AdminTokens, 'read'>;
  portal: PortalAccesses;
  limits: Pick<RateLimits, 'general'>;
}

export function createAdminPrincipals({ tokens, portal, limits }: AdminPrincipalsDeps): AdminPrincipals {
  /** The bearer of a valid token, and what `prove` finds alive for it in the database; null counts as not alive. */
  async function proved<T>(
    request: FastifyRequest,
    reply: FastifyReply,
    prove: (subject: AdminSubject) => Promise<T | null>,
  ): Promise<{ subject: AdminSubject; found: T }> {
    const { bearer } = credentialsOf(request);
    const refuse = refusing(limits, request, reply);
    const subject = bearer ? await tokens.read(bearer).catch(refuse.failed) : null;
    const found = subject && (await prove(subject));
    if (!subject || found === null) return refuse.unproved();
    await limits.general('jwt', credentialOf(subject), reply);
    return { subject, found };
  }

  return {
    async authenticate(request, reply) {
      const { subject } = await proved(request, reply, async (s) => (await portal.isAlive(s)) || null);
      return subject;
    },
    async authorize(request, reply, level, { lacking, denied }) {
      const { subject, found } = await proved(request, reply, async (s) => {
        const access = await portal.find(s, request.params as PortalPath);
        return access === 'dead' ? null : { access };
      });
      const credential = credentialOf(subject);
      if (!found.access) return { credential, refusal: async () => new DomainError('account.not_found') };
      const { owes } = found.access;
      const admin = present(subject, found.access);
      const refused = owes ? new DomainError(owed[owes]) : lacking(admin);
      const refusal = refused ? () => denied(admin, refused) : missingIn(found.access, level);
      return refusal ? { credential, refusal } : admin;
    },
  };
}

const owed = {
  other_sign_in: 'account.other_sign_in_required',
  enrollment: 'mfa.enrollment_required',
  challenge: 'mfa.challenge_required',
} as const satisfies Record<NonNullable<PortalAccess['owes']>, ErrorCode>;

// Of the user and not of the token: a retry with the same Idempotency-Key may come with the next token.
const credentialOf = ({ userId }: AdminSubject) => `platform_admin/${userId}`;

const present = (
  subject: AdminSubject,
  { accountId, applicationId, environmentId, roles, capabilities, capabilitiesInPart }: PortalAccess,
): AuthorizedAdmin => ({
  caller: {
    type: 'platform_admin',
    userId: subject.userId,
    sessionId: subject.sessionId,
    capabilities,
    roles,
  },
  scope: { accountId, ...(applicationId && { applicationId }), ...(environmentId && { environmentId }) },
  credential: credentialOf(subject),
  capabilitiesInPart,
});

function missingIn({ applicationId, environmentId }: PortalAccess, level: Level): Refused['refusal'] | null {
  if (level === 'account') return null;
  if (!applicationId) return async () => new DomainError('application.not_found');
  return level === 'environment' && !environmentId ? async () => new DomainError('environment.not_found') : null;
}
