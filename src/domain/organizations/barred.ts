import { type LoginMethod, type MethodSettings, methodsOf } from '../environments/login-methods.js';
import { firstFactorOf } from '../first-factor-of.js';
import type { FirstFactor } from '../sessions/first-factor.js';
import type { OfferedConnection, SignInPolicy } from './sign-in-policy.js';

/** Why the organizations of a person do not let them in, though they have proved who they are. */
export interface Barred {
  code: 'login.method_not_allowed' | 'sso_required';
  /** The ways that are left: allowed by all of the organizations, and switched on in the Environment. */
  methods: LoginMethod[];
  /** Identity providers that are wanted instead. */
  connections: OfferedConnection[];
}

/** What a policy leaves of some ways; none where it wants an identity provider. */
export const allowedOf = (
  methods: readonly LoginMethod[],
  { allows, requireSso }: Pick<SignInPolicy, 'allows' | 'requireSso'>,
): LoginMethod[] => (requireSso ? [] : methods.filter((method) => allows[method]));

/** Whether a policy leaves an identity provider alone, be it in one word or by what it does not allow. */
export const wantsSso = ({ allows, requireSso }: Pick<SignInPolicy, 'allows' | 'requireSso'>): boolean =>
  requireSso || (allows.sso && !(allows.password || allows.email_otp || allows.passkey));

/** Whether a policy bars the way in which somebody has signed in; a session is what its first factor was. */
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

/** A session is what it began by, unless a provider has said its `amr`, or a recovery code stands in for the provider. */
function methodOf({ method, amr, ssoConnectionId = null }: Proved): LoginMethod | 'sso' {
  if (ssoConnectionId !== null) return 'sso';
  if (method !== 'session') return method;
  if (amr.length === 0) return 'sso';
  const began = firstFactorOf(amr);
  return began === 'other' ? 'passkey' : began;
}
