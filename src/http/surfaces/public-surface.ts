import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/errors.js';
import { forbiddenFor } from '../../domain/forbidden.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import type { PublicPrincipals } from '../principals/public.js';
import { recordDenial } from './denials.js';
import type { NodePermission, PermissionRule } from './operation.js';
import { pathId } from './path-ids.js';
import type { Authorized, Surface } from './surface.js';

/** Returns a surface for API keys and end users, whose scopes and roles say what they may do. */
export const publicSurface = (
  { name, prefix }: { name: string; prefix: string },
  principals: PublicPrincipals,
  services: Services,
): Surface => ({
  name,
  pathOf: ({ path }) => `${prefix}${path}`,
  paramsOf: () => ({}),
  security: [{ apiKey: [] }, { bearer: [] }],
  describe: ({ permission }) => describe(ruleOf(permission as PermissionRule)),
  refusals({ permission, method }) {
    const { at, missing } = ruleOf(permission as PermissionRule);
    const ofNode = at === null || at === 'root' ? [] : [missing];
    return [
      'auth.invalid_credentials',
      'principal.wrong_type',
      'api_key.scope_required',
      'permission.required',
      ...ofNode,
      // The Environment existed when the caller was checked, and may have been deleted while the change was made.
      ...(method === 'GET' ? [] : (['environment.not_found'] as const)),
    ];
  },
  async authorize({ id, permission }, request, reply) {
    const authorized = await principals.authenticate(request, reply);
    const refused = await refusalOf(services.rights, authorized, ruleOf(permission as PermissionRule), request);
    if (!refused) return authorized;
    const { credential } = authorized;
    // A request for a node that does not exist is not recorded as a denial.
    const isMissing = refused.code.endsWith('_not_found');
    return {
      credential,
      refusal: async () => (isMissing ? refused : recordDenial(services.db, authorized, id, refused)),
    };
  },
});

const ruleOf = (rule: PermissionRule): Omit<NodePermission, 'at'> & { at: string | null | 'root' } =>
  typeof rule === 'string' ? { anyOf: [rule], at: 'root', missing: 'nodes.node_not_found' } : rule;

function describe({ anyOf, at }: ReturnType<typeof ruleOf>) {
  const names = anyOf.map((permission) => `\`${permission}\``).join(' or ');
  const where = { root: "at the environment's root", null: 'at one node or more, and is limited to where it is held' }[
    String(at)
  ];
  return {
    text: `Requires ${names} ${where ?? `at the node that \`${at}\` names`}.`,
    'x-permission': { any_of: [...anyOf], at: at ?? 'somewhere' },
  };
}

/** Returns the refusal, or null if the caller may. */
async function refusalOf(
  rights: Services['rights'],
  { caller, scope }: Authorized,
  { anyOf, at, missing }: ReturnType<typeof ruleOf>,
  request: FastifyRequest,
): Promise<DomainError | null> {
  const environment = scope as EnvironmentScope;
  const lacking = () => forbiddenFor(caller, { permissions: anyOf, isAtRoot: at === 'root' });
  if (at === null) {
    const reached = await rights.reach(environment, caller, { permissions: anyOf });
    return reached?.length === 0 ? lacking() : null;
  }
  const nodeId = at === 'root' ? null : (request.params as Record<string, string>)[at];
  if (nodeId === undefined) return null;
  const held = await rights.holdsAt(environment, caller, { permissions: anyOf }, nodeId && pathId(nodeId));
  return held === 'held' ? null : held === 'lacking' ? lacking() : new DomainError(missing);
}
