import type { Schema } from './document.js';

const id = '01936d2f-5b1c-7e4a-9f3e-2b8c6d1a4e70';

/** Examples of texts by the name of their property, if their schema has no `example`. */
const texts: Record<string, string> = {
  accountSlug: 'acme',
  account_name: 'Acme',
  account_slug: 'acme',
  acr_values: 'urn:gatehouse:aal2',
  acr: 'urn:gatehouse:aal2',
  access_token: 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIwMTkzNmQyZiJ9.c2lnbmF0dXJl',
  after: 'AAZEU43OTE4Bk20vWxx-Sp8-K4xtGk5w',
  allowed_origins: 'https://app.example.com',
  allowed_parents: 'region',
  amr: 'pwd',
  appSlug: 'portal',
  application_name: 'Portal',
  avatar_url: 'https://cdn.example.com/ana.png',
  category: 'Invoices',
  challenge_token: 'q2Jt8V0aXc5nLrKfYw3sTzHdUe7pMgB1oCi4vRjQxEk',
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  client_id: 'gh_client_7f3kq9x2m4',
  code: '492817',
  confirm: 'portal',
  description: 'Our first site',
  device_name: 'Firefox on Linux',
  email: 'ana@example.com',
  envSlug: 'development',
  environment_slug: 'development',
  expires_in: '7d',
  external_id: 'crm-4711',
  first_name: 'Ana',
  icon: 'building',
  invited_by: 'Ana Berger',
  ip_address: '203.0.113.7',
  jwks_uri: 'https://app.example.com/jwks.json',
  key: 'invoice.view',
  key_preview: 'gh_live_…x7Qz',
  label: 'Phone',
  last_name: 'Berger',
  logo_url: 'https://cdn.example.com/logo.svg',
  message: 'Done',
  name: 'Berlin',
  new_password: 'seven quiet lanterns',
  node_name: 'Berlin',
  node_type: 'site',
  older_than: '7d',
  otpauth_uri: 'otpauth://totp/Acme:ana%40example.com?secret=JBSWY3DPEHPK3PXP&issuer=Acme',
  password: 'seven quiet lanterns',
  permission: 'invoice.view',
  permission_keys: 'invoice.view',
  permissions: 'invoice.view',
  post_logout_redirect_uris: 'https://app.example.com/',
  primary_color: '#1a5fb4',
  q: 'berg',
  reason: 'granted',
  recovery_codes: 'f7kq-2m9x-w4tz',
  redirect_uris: 'https://app.example.com/callback',
  role_name: 'Accountant',
  scope: 'openid profile email',
  scopes: 'identity.view',
  run_id: '01936d2f-7c55-7d0a-8f7e-6a5b4c3d2e1f',
  secret: 'gh_live_4fN8sK2pR7vX1mC9bT6hY3qZ',
  slug: 'berlin',
  subject_type: 'identity',
  support_email: 'help@example.com',
  token: 'q2Jt8V0aXc5nLrKfYw3sTzHdUe7pMgB1oCi4vRjQxEk',
  type: 'node',
  user_agent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/142.0',
};

/** Texts that are tried if the name's own does not match the schema: a node type's key is no permission's key. */
const forms = ['site', 'invoice', 'invoice.view', 'berlin', '7d', '492817', 'https://app.example.com', id];

const formats: Record<string, string> = {
  uuid: id,
  'date-time': '2026-11-21T09:30:00.000Z',
  email: 'ana@example.com',
  'idn-email': 'ana@example.com',
  uri: 'https://app.example.com/callback',
};

/**
 * Returns an example of what a schema describes: its own `example` if it has one, or else made from its default,
 * values, format or name, with every property. The tests validate each example by its schema.
 */
export function exampleOf(schema: Schema, name = ''): unknown {
  if (schema.example !== undefined) return schema.example;
  if (schema.default !== undefined) return schema.default;
  const [value] = schema.enum ?? schema['x-extensible-enum'] ?? [];
  if (value !== undefined) return value;
  if (schema.anyOf?.[0]) return exampleOf(schema.anyOf[0], name);
  switch (schema.type) {
    case 'object':
      return exampleObject(schema);
    case 'array':
      return schema.items && !schema.items['x-resource'] ? [exampleOf(schema.items, name)] : [];
    case 'string':
      return exampleText(schema, name);
    case 'integer':
    case 'number':
      return Math.min(Math.max(schema.minimum ?? 1, 1), schema.maximum ?? Number.POSITIVE_INFINITY);
    case 'boolean':
      return true;
    default:
      return {};
  }
}

function exampleObject({ properties = {}, additionalProperties }: Schema): Record<string, unknown> {
  const known = Object.entries(properties).map(([name, schema]) => [name, exampleOf(schema, name)]);
  const values = typeof additionalProperties === 'object' ? additionalProperties : null;
  if (known.length === 0 && values) return { key: exampleOf(values, 'key') };
  return Object.fromEntries(known);
}

function exampleText(schema: Schema, name: string): string {
  const known = texts[name] ?? (/_(by|id)$/.test(name) || name === 'id' ? id : undefined);
  const ofFormat = schema.format && name !== 'avatar_url' ? formats[schema.format] : undefined;
  const words = name.replace(/[_-]/g, ' ').trim() || 'text';
  const candidates = [...(known && !schema.format ? [known] : []), ofFormat, known, words, ...forms];
  const fits = candidates.find((text): text is string => text !== undefined && isOf(schema, text));
  return fits ?? words;
}

const isOf = ({ pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Schema, text: string): boolean =>
  text.length >= minLength && text.length <= maxLength && (!pattern || new RegExp(pattern, 'u').test(text));
