import type { FirstFactorMethod } from '../../../entities/pending-sign-in.js';
import type { Client } from '../oidc/clients.js';
import type { SignInPolicy } from './sign-in-policy.js';

/** A way of signing in by which somebody proves who they are here, and to nobody else. */
export type LoginMethod = Exclude<FirstFactorMethod, 'session' | 'sso'>;

/** Why the organizations of a person do not let them in, though they have proved who they are. */
export interface Barred {
  code: 'login.method_not_allowed' | 'sso_required';
  /** The ways that are left: allowed by all of the organizations, and switched on in the Environment. */
  methods: LoginMethod[];
}

export type MethodSettings = Pick<
  Client['settings'],
  'passwordLoginEnabled' | 'emailOtpLoginEnabled' | 'passkeyLoginEnabled'
>;

/** The ways that an Environment has switched on. */
export const methodsOf = (settings: MethodSettings): LoginMethod[] => [
  ...(settings.passwordLoginEnabled ? (['password'] as const) : []),
  ...(settings.emailOtpLoginEnabled ? (['email_otp'] as const) : []),
  ...(settings.passkeyLoginEnabled ? (['passkey'] as const) : []),
];

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
  policy: Pick<SignInPolicy, 'allows' | 'requireSso'>,
  first: { method: FirstFactorMethod; amr: readonly string[] },
  settings: MethodSettings,
): Barred | null {
  if (wantsSso(policy)) return { code: 'sso_required', methods: [] };
  if (policy.allows[methodOf(first)]) return null;
  return { code: 'login.method_not_allowed', methods: allowedOf(methodsOf(settings), policy) };
}

/** By what an `amr` (RFC 8176) began with: only a passkey signs in without `pwd` or `otp`. */
function methodOf({ method, amr }: { method: FirstFactorMethod; amr: readonly string[] }): LoginMethod | 'sso' {
  if (method !== 'session') return method;
  if (amr.includes('pwd')) return 'password';
  return amr.includes('otp') ? 'email_otp' : 'passkey';
}
