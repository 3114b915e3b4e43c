import { setTimeout as sleep } from 'node:timers/promises';
import { newKey } from '../client.js';
import { confirmLink } from '../confirm.js';
import { linkTokenIn } from '../mails.js';
import { type Actor, dataOf, isGone, isStatus, viaApi, viaPortal, type World } from '../world.js';

/** Registers like a new customer, waits for the mail, and follows its link. */
export function registrations(world: World, lane: number): Actor {
  const { client, ledger, mails } = world;
  let count = 0;
  return {
    name: `registrations ${lane}`,
    everyMs: 700,
    isDurable: true,
    async step() {
      const n = `${lane}-${++count}`;
      const person = { email: `customer-${n}@chaos.example`, password: `long enough ${newKey()}` };
      const names = { first_name: 'Ana', last_name: 'Kovač', account_name: `Customer ${n}`, application_name: 'Shop' };
      const what = `register ${person.email}`;
      const asked = await client.decided('register', { path: '/v1/auth/register', json: { ...person, ...names } });
      if (!isStatus(world, what, asked, 201)) return;
      let mail = mails.deliveredTo(person.email)[0];
      for (; !mail && !world.isOver(); mail = mails.deliveredTo(person.email)[0]) await sleep(50);
      if (!mail) return; // it has to arrive all the same, which is checked at the end
      const confirmed = await confirmLink(client, { ...person, token: linkTokenIn(mail.raw) });
      if (isStatus(world, `confirm ${person.email}`, confirmed, 201)) ledger.note('registration', person);
    },
  };
}

/** Invites people, and revokes every third invite. */
export function invites(world: World): Actor {
  const { ledger, random } = world;
  let count = 0;
  return {
    name: 'invites',
    everyMs: 900,
    isDurable: true,
    async step() {
      const email = `guest-${++count}@chaos.example`;
      const invited = await viaApi(world, 'invite', { path: '/identity-invites', json: { email } });
      const invite = dataOf<{ id: string }>(world, `invite ${email}`, invited, 201);
      if (!invite) return;
      ledger.note('invite', { id: invite.id, email });
      if (random.next() < 0.67) return;
      const revocation = { method: 'POST', path: `/identity-invites/${invite.id}/revoke` } as const;
      const revoked = await viaApi(world, 'revoke invite', revocation);
      if (isGone(world, `revoke invite of ${email}`, revoked, 200)) ledger.note('invite revocation', { id: invite.id });
    },
  };
}

/** Claims domains, and publishes the DNS record of most of them. */
export function domains(world: World): Actor {
  const { dns, ledger, random } = world;
  let count = 0;
  return {
    name: 'domains',
    everyMs: 4_000,
    isDurable: true,
    async step() {
      const domain = `chaos-${++count}.com`;
      const asked = await viaPortal(world, 'claim domain', { path: '/sso/domains', json: { domain } });
      const claim = dataOf<{ id: string; txt_record_name: string; txt_record_value: string }>(
        world,
        `claim ${domain}`,
        asked,
        201,
      );
      if (!claim) return;
      const published = random.next() < 0.7;
      if (published) dns.set(claim.txt_record_name, { txt: [claim.txt_record_value] });
      ledger.note('domain', { id: claim.id, domain, published });
    },
  };
}

/** Subscribes receivers, and deletes half of the subscriptions. */
export function webhooks(world: World): Actor {
  const { ledger, random, receiver } = world;
  let count = 0;
  return {
    name: 'webhooks',
    everyMs: 700,
    isDurable: true,
    async step() {
      const url = receiver.url(`/other/${++count}`);
      const json = { url, event_types: ['organization.created'] };
      const made = await viaApi(world, 'create webhook', { path: '/webhooks', json });
      const webhook = dataOf<{ id: string }>(world, `subscribe ${url}`, made, 201);
      if (!webhook) return;
      ledger.note('webhook', { id: webhook.id, url });
      if (random.next() < 0.5) return;
      const deleted = await viaApi(world, 'delete webhook', { method: 'DELETE', path: `/webhooks/${webhook.id}` });
      if (isGone(world, `unsubscribe ${url}`, deleted)) ledger.note('webhook deletion', { id: webhook.id });
    },
  };
}
