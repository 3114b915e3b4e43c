import type { AuditPlace } from '../../domain/audit/conditions.js';
import type { Caller } from '../../domain/caller.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import { always, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { ById, listOf } from '../surfaces/schemas.js';
import {
  AuditDetailView,
  AuditExportQuery,
  AuditListQuery,
  AuditRowView,
  ExportAnswer,
  exported,
  filtersOf,
  presentDetail,
  presentRow,
} from './audit-rows.js';

const common = {
  tag: 'Audit log',
  level: 'environment',
  permission: 'audit.view',
  capability: 'audit.view',
  inPart: true,
} as const;

/** Returns which rows the caller may see: the Environment's, or only those of the nodes that limit an administrator. */
async function placeOf(
  { rights }: Pick<Services, 'rights'>,
  scope: EnvironmentScope,
  caller: Caller,
): Promise<AuditPlace> {
  const { accountId, environmentId } = scope;
  const nodes =
    caller.type === 'platform_admin'
      ? await rights.reach(scope, caller, { permissions: [], capability: 'audit.view' })
      : null; // the permission was checked at the root
  const reach = nodes && { application_ids: [], environment_ids: [], node_ids: [...nodes] };
  return { accountId, environmentId, surface: 'all', reach };
}

export const listAuditLogs = operation({
  ...common,
  id: 'listAuditLogs',
  method: 'GET',
  path: '/audit-logs',
  summary: 'List the audit log',
  description:
    'Includes refusals; filter by `outcome`. `item_count` is exact whatever the filters, and pages deep in the log are ' +
    'as fast as the first.',
  query: AuditListQuery,
  answers: { 200: listOf(AuditRowView), ...errors('validation.failed') },
  isBroad: always,
  async handle({ services, scope, caller, query: { page, take, order, after, ...query } }) {
    const place = await placeOf(services, scope, caller);
    return paginated(await services.auditLog.list(place, filtersOf(query), { page, take, order, after }), presentRow);
  },
});

export const exportAuditLogs = operation({
  ...common,
  id: 'exportAuditLogs',
  method: 'GET',
  path: '/audit-logs/export',
  summary: 'Export the audit log',
  description:
    'Contains every row that exists when the export begins, and none written during it. The export itself is recorded in ' +
    'the log as `audit.exported`.',
  query: AuditExportQuery,
  events: ['audit.exported'],
  waitsMs: Number.POSITIVE_INFINITY,
  answers: { 200: ExportAnswer, ...errors('validation.failed') },
  async handle({ services, scope, caller, query }) {
    const place = await placeOf(services, scope, caller);
    return exported(query.format, await services.auditLog.export(place, filtersOf(query), query.format));
  },
});

export const getAuditLog = operation({
  ...common,
  id: 'getAuditLog',
  method: 'GET',
  path: '/audit-logs/:id',
  summary: 'Get a row of the audit log with related rows',
  description: 'Reading a row is itself recorded in the log as `audit.row.viewed`.',
  params: ById,
  events: ['audit.row.viewed'],
  answers: { 200: AuditDetailView, ...errors('audit.row_not_found') },
  handle: async ({ services, scope, caller, params }) =>
    presentDetail(await services.auditLog.view(await placeOf(services, scope, caller), params.id)),
});
