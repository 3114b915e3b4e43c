import { authzenOperations } from '../../src/http/authzen/index.js';
import type { DocumentedOperation, DocumentedResponse, OpenApiDocument } from '../../src/http/openapi/document.js';
import { operationsOf } from '../../src/http/openapi/document.js';
import { tags } from '../../src/http/openapi/tags.js';
import { portalOperations } from '../../src/http/portal-api.js';
import { environmentOperations } from '../../src/http/surfaces/environment-operations.js';
import { anyMember, codesOf, type Operation } from '../../src/http/surfaces/operation.js';

/** Renders `docs/operations-list.md`: a line for each operation, a table for each group of a surface. */

interface Line {
  tag: string;
  id: string;
  route: string;
  permission: string;
  capability: string;
  ifMatch: boolean;
  codes: readonly string[];
  events: readonly string[];
}

const account = '/portal/v1/accounts/{accountSlug}';
const application = `${account}/applications/{appSlug}`;
const environment = `${application}/environments/{envSlug}`;

/** @param document of the whole api; also has the operations that are not declared */
export function operationsList(document: OpenApiDocument): string {
  const shared = new Set(environmentOperations);
  const ofPortal = portalOperations.filter((one) => !shared.has(one));
  const at = (level: Operation['level']) => ofPortal.filter((one) => one.level === level).map(lineOf);
  const routes = (prefix: RegExp) =>
    [...operationsOf(document)]
      .filter(({ path }) => prefix.test(path))
      .map(({ path, method, operation }) => lineOfRoute(`${method.toUpperCase()} ${path}`, operation));
  return [
    section(`Public API, \`/api/v1\`; and Portal, \`${environment}\``, environmentOperations.map(lineOf)),
    section(`Portal, \`${account}\``, at('account')),
    section(`Portal, \`${application}\``, at('application')),
    section(`Portal, \`${environment}\``, at('environment')),
    section('AuthZEN, `/access/v1`', authzenOperations.map(lineOf)),
    section('Administrators, `/v1/auth`', routes(/^\/v1\/auth\//)),
    section('End users, `/v1/identity/auth`', routes(/^\/v1\/identity\//)),
    section('SCIM 2.0', routes(/^\/scim\//)),
    section('OAuth 2.0, OpenID Connect and the hosted pages', routes(/^\/(oauth|sso|\.well-known)\//)),
  ].join('\n\n');
}

function lineOf({ id, method, path, tag, permission, capability, ifMatch, answers, events = [] }: Operation): Line {
  return {
    tag,
    id,
    route: `${method} ${path.replace(/:(\w+)/g, '{$1}')}`.trim(),
    permission: permission === undefined ? '–' : permissionOf(permission),
    capability: capability === anyMember ? 'any member' : capability === undefined ? '–' : code(String(capability)),
    ifMatch: ifMatch === 'required',
    codes: codesOf(answers),
    events,
  };
}

function permissionOf(rule: NonNullable<Operation['permission']>): string {
  if (typeof rule === 'string') return code(rule);
  const names = rule.anyOf.map(code).join(' or ');
  if (rule.at === 'root') return names;
  return `${names} ${rule.at === null ? 'somewhere' : `at ${code(`{${rule.at}}`)}`}`;
}

function lineOfRoute(route: string, operation: DocumentedOperation): Line {
  const answers = Object.values(operation.responses) as DocumentedResponse[];
  const codes = answers.flatMap((answer) => answer['x-error-codes'] ?? []);
  return {
    tag: operation.tags?.[0] ?? '',
    id: operation.operationId,
    route,
    permission: '–',
    capability: '–',
    ifMatch: false,
    codes: codes.filter((one): one is string => one !== null),
    events: (operation['x-events'] as string[] | undefined) ?? [],
  };
}

/** Codes that are listed once above the tables. */
const everywhere = [
  'auth.multiple_credentials',
  'rate_limit.exceeded',
  'service.unavailable',
  'body.malformed',
  'body.too_large',
  'body.unsupported_encoding',
  'body.unsupported_media_type',
  'validation.failed',
];

function section(title: string, lines: Line[]): string {
  const named = Object.keys(tags).filter((tag) => lines.some((line) => line.tag === tag));
  const tables = named.map((tag) => `### ${tag}\n\n${table(lines.filter((line) => line.tag === tag))}`);
  return `## ${title}\n\n${tables.join('\n\n')}`;
}

/** Omits columns that are empty in every line. */
function table(lines: Line[]): string {
  const columns: [string, (line: Line) => string][] = [
    ['operation', ({ id }) => code(id)],
    ['method and path', ({ route }) => code(route)],
    ['permission', ({ permission }) => permission],
    ['capability', ({ capability }) => capability],
    ['`If-Match`', ({ ifMatch }) => (ifMatch ? 'required' : '–')],
    ['own errors', ({ codes }) => listed(codes.filter((one) => !everywhere.includes(one)))],
    ['events', ({ events }) => listed(events)],
  ];
  const used = columns.filter(([, cell]) => lines.some((line) => cell(line) !== '–'));
  const row = (cells: string[]) => `| ${cells.join(' | ')} |`;
  return [
    row(used.map(([name]) => name)),
    `|${used.map(() => '---|').join('')}`,
    ...lines.map((line) => row(used.map(([, cell]) => cell(line)))),
  ].join('\n');
}

const code = (text: string) => `\`${text}\``;
const listed = (names: readonly string[]) => (names.length === 0 ? '–' : [...new Set(names)].map(code).join(' '));
