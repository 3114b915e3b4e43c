import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Services } from '../../services.js';
import type { PublicPrincipals } from '../principals/public.js';
import { mount } from '../surfaces/mount.js';
import { publicSurface } from '../surfaces/public-surface.js';
import { accessEvaluation, accessEvaluations } from './evaluations.js';
import { searchActions, searchResources, searchSubjects } from './searches.js';

export const authzenOperations = [accessEvaluation, accessEvaluations, searchSubjects, searchResources, searchActions];

/** The engine as the Authorization API 1.0 (AuthZEN), with the metadata document for finding it (§9). */
export function mountAuthzen(
  app: FastifyInstance,
  { principals, services, baseUrl }: { principals: PublicPrincipals; services: Services; baseUrl: string },
): void {
  mount(
    app,
    publicSurface({ name: 'authzen', prefix: '/access/v1' }, principals, services),
    authzenOperations,
    services,
  );

  const at = `${baseUrl}/access/v1`;
  const configuration = {
    policy_decision_point: baseUrl,
    access_evaluation_endpoint: `${at}/evaluation`,
    access_evaluations_endpoint: `${at}/evaluations`,
    search_subject_endpoint: `${at}/search/subject`,
    search_resource_endpoint: `${at}/search/resource`,
    search_action_endpoint: `${at}/search/action`,
  };
  const schema = {
    operationId: 'getAuthzenConfiguration',
    description:
      'Lists the evaluation endpoints, for enforcement points that configure themselves from the issuer. No authentication ' +
      'is required.',
    summary: 'Get the metadata of the policy decision point (AuthZEN 1.0 §9)',
    tags: ['Discovery'],
    response: { 200: Type.Record(Type.String(), Type.String()) },
  };
  app.get('/.well-known/authzen-configuration', { schema }, async (_request, reply) =>
    reply
      .header('cache-control', 'public, max-age=3600')
      .header('access-control-allow-origin', '*')
      .send(configuration),
  );
}
