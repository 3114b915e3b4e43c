import type pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import type { Seed } from '../seed.js';
import type { Size } from './sizes.js';

/**
 * Writes rows of lists that grow by themselves, as many of each as there are people: deliveries of a webhook, mails,
 * invites, API keys and events. They are a second apart, the last one an hour ago; the database counts them.
 * @returns the webhook's id
 */
export async function seedLists(
  owner: pg.Client,
  { accountId, applicationId, environmentId }: Seed['scope'],
  { identities: count }: Pick<Size, 'identities'>,
): Promise<string> {
  const webhookId = uuidv7();
  await owner.query(
    `insert into webhooks (id, account_id, application_id, environment_id, url, event_types, is_active, secret, created_at, updated_at)
     values ($1, $2, $3, $4, 'https://hooks.example/bench', '{*}', false, '', now(), now())`,
    [webhookId, accountId, applicationId, environmentId],
  );
  const place = { account_id: '$1::uuid', environment_id: '$2::uuid' };
  const insert = (table: string, columns: Record<string, string>, ...more: string[]) => {
    const all = { id: 'gen_random_uuid()', ...place, created_at: 'at', ...columns };
    return owner.query(
      `insert into ${table} (${Object.keys(all).join()}) select ${Object.values(all).join()}
       from (select n, now() - interval '1 hour' - ($3::int - n) * interval '1 second' as at from generate_series(1, $3::int) n) each`,
      [accountId, environmentId, count, ...more],
    );
  };
  await insert(
    'webhook_deliveries',
    {
      webhook_id: '$4::uuid',
      event_id: 'gen_random_uuid()',
      event_type: `'identity.created'`,
      body: `'{}'`,
      status: `case when n % 500 = 0 then 'failed' else 'succeeded' end`,
      attempt_count: '1',
      settled_at: 'at',
    },
    webhookId,
  );
  await insert('emails', {
    template: `'identity-invite'`,
    locale: `'en'`,
    subject_id: 'gen_random_uuid()',
    cause: 'gen_random_uuid()::text',
    status: `'sent'`,
    ended_at: 'at',
  });
  await insert('identity_invites', {
    intent: `'activate'`,
    email: `'invited' || n || '@people.example'`,
    role_ids: `'{}'`,
    locale: `'en'`,
    token_hash: `sha256(gen_random_uuid()::text::bytea)`,
    token_key_id: `'none'`,
    link_number: '1',
    status: `'revoked'`,
    invited_by_type: `'user'`,
    invited_by: 'gen_random_uuid()',
    expires_at: 'at',
    ended_at: 'at',
  });
  await insert(
    'api_keys',
    {
      application_id: '$4::uuid',
      client_id: 'gen_random_uuid()::text',
      name: `'Key ' || n`,
      secret_hash: `sha256(gen_random_uuid()::text::bytea)`,
      key_preview: `'none'`,
      access_mode: `'scoped'`,
      scopes: `'{}'`,
      is_active: 'false',
    },
    applicationId,
  );
  await insert(
    'events',
    {
      transaction_id: 'pg_current_xact_id()::text::bigint',
      application_id: '$4::uuid',
      actor_type: `'system'`,
      action: `'identity.created'`,
      resource_type: `'identity'`,
      resource_id: 'gen_random_uuid()::text',
      metadata: `'{}'`,
      outcome: `'success'`,
      category: `'identity'`,
      severity: `'info'`,
      correlation_id: 'gen_random_uuid()',
      is_domain_event: 'true',
      customer_visible: 'true',
      identity_visible: 'true',
    },
    applicationId,
  );
  // As if they had been counted when they happened: events older than the last mark are never counted.
  await owner.query(
    `insert into event_counts as c (day, account_id, application_id, environment_id, action, resource_type, category, severity, outcome,
       identity_visible, value)
     select (created_at at time zone 'UTC')::date, account_id, application_id, environment_id, action, resource_type, category, severity,
       outcome, identity_visible, count(*)
     from events where environment_id = $1 and created_at <= now() - interval '1 hour' group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10`,
    [environmentId],
  );
  return webhookId;
}
