import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AdminCaller } from '../../domain/caller.js';
import { DomainError, type ErrorCode } from '../../domain/errors.js';
import type { AdminSubject, AdminTokens } from '../../domain/users/admin-tokens.js';
import type { PortalAccess, PortalAccesses, PortalPath } from '../../domain/users/portal-access.js';
import type { Level } from '../surfaces/operation.js';
import type { RateLimits } from '../surfaces/rate-limits.js';
import type { Authorized, Refused } from '../surfaces/surface.js';
import { credentialsOf } from './credentials.js';
import { refusing } from './refusing.js';

export type AuthorizedAdmin = Authorized & { caller: AdminCaller } & Pick<PortalAccess, 'capabilitiesInPart'>;

/** Platform admins, by their access token. Every request proves in the database that their session is alive. */
export interface AdminPrincipals {
  /**
   * Authenticates the caller of a request that names no Account.
   * @throws DomainError auth.invalid_credentials, principal.wrong_type, auth.multiple_credentials, rate_limit.exceeded
   */
  authenticate(request: FastifyRequest, reply: FastifyReply): Promise<AdminSubject>;
  /**
   * Authenticates the caller and determines what they are in the Account of the request's path, in one statement. What
   * the caller lacks is reported before what does not exist: 404 outside of their Accounts, then 403 for another
   * sign-in or a second factor that the Account requires, then for a capability, then 404 inside.
   * @throws DomainError auth.invalid_credentials, principal.wrong_type, auth.multiple_credentials, rate_limit.exceeded
   */
  authorize(
    request: FastifyRequest,
    reply: FastifyReply,
    level: Level,
    judging: Judging,
  ): Promise<AuthorizedAdmin | Refused>;
}

/** What `authorize` must know of the operation that is called. */
export interface Judging {
  /** The refusal of an admin who lacks the capability that the operation requires; null for one who has it. */
  lacking(admin: AuthorizedAdmin): DomainError | null;
  /** Records the refusal of a right (contract §10), and returns it. */
  denied(admin: AuthorizedAdmin, refusal: DomainError): Promise<DomainError>;
}

export interface AdminPrincipalsDeps {
  tokens: Pick<AdminTokens, 'read'>;
  portal: PortalAccesses;
  limits: Pick<RateLimits, 'general'>;
}

/** Authenticates administrators by the access tokens that `tokens` reads and `portal` finds alive. */
export function createAdminPrincipals({ tokens, portal, limits }: AdminPrincipalsDeps): AdminPrincipals {
  /** The subject of a valid bearer token, and what `prove` finds alive for it in the database; null: not alive. */
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
  sso: 'account.sso_required',
  enrollment: 'mfa.enrollment_required',
  challenge: 'mfa.challenge_required',
} as const satisfies Record<NonNullable<PortalAccess['owes']>, ErrorCode>;

// The user and not the token: a retry with the same Idempotency-Key may come with the next token.
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
