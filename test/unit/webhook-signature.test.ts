import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { newWebhookSecret } from '../../src/domain/webhooks/secrets.js';
import { signatureHeaders } from '../../src/domain/webhooks/signature.js';

const message = {
  id: 'e7c8a2f4-2f3d-7a3e-9d0e-0a1b2c3d4e5f',
  sentAt: new Date(),
  body: '{"type":"node.created","data":{"ü":1}}',
};

test('a secret is 32 bytes in the form that receivers configure', () => {
  const secret = newWebhookSecret();
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(newWebhookSecret()).not.toBe(secret);
});

test('the public library verifies what one secret signed', () => {
  const secret = newWebhookSecret();
  const headers = signatureHeaders(message, [secret]);
  expect(new Webhook(secret).verify(message.body, headers)).toEqual(JSON.parse(message.body));
  expect(headers['webhook-signature']).toBe(new Webhook(secret).sign(message.id, message.sentAt, message.body));
});

test('while a secret is being rotated both verify, and no third one', () => {
  const [old, next] = [newWebhookSecret(), newWebhookSecret()];
  const headers = signatureHeaders(message, [next, old]);
  expect(headers['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/);
  for (const secret of [old, next]) new Webhook(secret).verify(message.body, headers);
  expect(() => new Webhook(newWebhookSecret()).verify(message.body, headers)).toThrow(WebhookVerificationError);
});

test('another id, time or body does not verify', () => {
  const secret = newWebhookSecret();
  const headers = signatureHeaders(message, [secret]);
  const later = String(Number(headers['webhook-timestamp']) + 1);
  const verify =
    (changed: object, body = message.body) =>
    () =>
      new Webhook(secret).verify(body, { ...headers, ...changed });
  expect(verify({ 'webhook-id': 'another' })).toThrow(WebhookVerificationError);
  expect(verify({ 'webhook-timestamp': later })).toThrow(WebhookVerificationError);
  expect(verify({}, `${message.body} `)).toThrow(WebhookVerificationError);
});
