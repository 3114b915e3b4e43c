import { type LoginMethod, type MethodSettings, methodsOf } from '../environments/login-methods.js';
import { firstFactorOf } from '../first-factor-of.js';
import type { FirstFactor } from '../sessions/first-factor.js';
import type { OfferedConnection, SignInPolicy } from './sign-in-policy.js';

/** Why a person's organizations refuse a sign-in, although they have proved who they are. */
export interface Barred {
  code: 'login.method_not_allowed' | 'sso_required';
  /** The remaining ways: allowed by all of the organizations, and switched on in the Environment. */
  methods: LoginMethod[];
  /** The identity providers that are required instead. */
  connections: OfferedConnection[];
}

/** The ways that a policy leaves; none if it requires an identity provider. */
export const allowedOf = (
  methods: readonly LoginMethod[],
  { allows, requireSso }: Pick<SignInPolicy, 'allows' | 'requireSso'>,
): LoginMethod[] => (requireSso ? [] : methods.filter((method) => allows[method]));

/** Whether a policy only leaves an identity provider, directly or by what it does not allow. */
export const wantsSso = ({ allows, requireSso }: Pick<SignInPolicy, 'allows' | 'requireSso'>): boolean =>
  requireSso || (allows.sso && !(allows.password || allows.email_otp || allows.passkey));

/** Returns whether a policy bars the method of a sign-in; a session counts as its first factor. */
export function barOf(
  policy: Omit<SignInPolicy, 'requireMfa' | 'belongs' | 'takesEnvironments'>,
  first: Proved,
  settings: MethodSettings,
): Barred | null {
  const method = methodOf(first);
  if (wantsSso(policy) && !(method === 'sso' && policy.ssoSatisfied))
    return { code: 'sso_required', methods: [], connections: policy.connections };
  if (policy.allows[method]) return null;
  return { code: 'login.method_not_allowed', methods: allowedOf(methodsOf(settings), policy), connections: [] };
}

type Proved = Pick<FirstFactor, 'method' | 'amr' | 'ssoConnectionId'>;

/**
 * A session counts as the method by which it began, unless its `amr` is a provider's, or a recovery code replaces the
 * provider.
 */
function methodOf({ method, amr, ssoConnectionId = null }: Proved): LoginMethod | 'sso' {
  if (ssoConnectionId !== null) return 'sso';
  if (method !== 'session') return method;
  if (amr.length === 0) return 'sso';
  const began = firstFactorOf(amr);
  return began === 'other' ? 'passkey' : began;
}
