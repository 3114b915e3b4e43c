import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import type { MasterKey } from './master-keys.js';

/** Encryption at rest and derived secrets, from the configured master keys (contract §2, "Secrets at rest"). */
export interface Sealing {
  /** AES-256-GCM; the key's id and the context are authenticated with it. */
  seal(plain: string, context: string): string;
  /** @throws Error when the context differs or the text was changed; UnknownMasterKey when its key is no longer configured. */
  open(sealed: string, context: string): string;
  /** Whether a key of this id is configured. */
  has(keyId: string): boolean;
  /** The key that `seal` uses. */
  readonly currentId: string;
  /** 256 bits by which a key is known again, and which tell nothing of it; null where none of this id is configured. */
  checkValue(keyId: string): Buffer | null;
  /** Whether `seal` would use another key by now. */
  isStale(sealed: string): boolean;
  /**
   * A 256-bit secret that can be made again but is never stored: links in mails that a process sends later, or twice.
   * Names the key that made it, so that it stays the same when a new master key is put in front.
   */
  derive(purpose: string, subject: string, keyId?: string): { keyId: string; secret: Buffer };
}

/** Something is sealed with a key that is not configured (any more). */
export class UnknownMasterKey extends Error {
  constructor(readonly keyId: string) {
    super(`master key ${keyId} is not configured`);
  }
}

export function createSealing(masterKeys: readonly MasterKey[]): Sealing {
  const [current] = masterKeys;
  if (!current) throw new Error('at least one master key is needed');
  const usage = (key: Buffer, name: string) =>
    Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), `gatehouse/${name}`, 32));
  const keys = new Map(
    masterKeys.map(({ id, key }) => [
      id,
      { id, sealing: usage(key, 'sealing'), deriving: usage(key, 'deriving'), checking: usage(key, 'checking') },
    ]),
  );
  const keyOf = (id: string) => {
    const key = keys.get(id);
    if (!key) throw new UnknownMasterKey(id);
    return key;
  };
  return {
    seal(plain, context) {
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', keyOf(current.id).sealing, iv).setAAD(
        Buffer.from(`${current.id}\n${context}`),
      );
      const body = Buffer.concat([iv, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${current.id}.${body.toString('base64url')}`;
    },
    open(sealed, context) {
      const [id = '', body = ''] = sealed.split('.');
      const bytes = Buffer.from(body, 'base64url');
      // One text for one token: what works once cannot be written in another way and work again.
      if (bytes.length < 28 || sealed !== `${id}.${bytes.toString('base64url')}`) throw new Error('not a sealed text');
      const decipher = createDecipheriv('aes-256-gcm', keyOf(id).sealing, bytes.subarray(0, 12)).setAAD(
        Buffer.from(`${id}\n${context}`),
      );
      decipher.setAuthTag(bytes.subarray(-16));
      return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('utf8');
    },
    has: (keyId) => keys.has(keyId),
    currentId: current.id,
    checkValue: (keyId) => keys.get(keyId)?.checking ?? null,
    isStale: (sealed) => !sealed.startsWith(`${current.id}.`),
    derive(purpose, subject, keyId = current.id) {
      const secret = createHmac('sha256', keyOf(keyId).deriving).update(`${purpose}\n${subject}`).digest();
      return { keyId, secret };
    },
  };
}
