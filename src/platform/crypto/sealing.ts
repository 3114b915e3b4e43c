import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import type { MasterKey } from './master-keys.js';

/** Encryption at rest and derived secrets, by the configured master keys (contract §2, "Secrets at rest"). */
export interface Sealing {
  /** Encrypts with AES-256-GCM; the key's id and the context are authenticated too. */
  seal(plain: string, context: string): string;
  /** @throws Error when the context differs or the text was changed; UnknownMasterKey when its key is not configured */
  open(sealed: string, context: string): string;
  /** Whether a key of this id is configured. */
  has(keyId: string): boolean;
  /** The key that `seal` uses. */
  readonly currentId: string;
  /** Returns 256 bits that identify a key without revealing it; null if no key of this id is configured. */
  checkValue(keyId: string): Buffer | null;
  /** Whether `seal` would now use another key. */
  isStale(sealed: string): boolean;
  /**
   * Derives a 256-bit secret that can be derived again and so is never stored: for links in mails that a workflow sends
   * later, or twice. Returns the key's id too, so the secret stays the same after a new master key is put in front.
   */
  derive(purpose: string, subject: string, keyId?: string): { keyId: string; secret: Buffer };
}

/** A text is sealed with a key that is not, or no longer, configured. */
export class UnknownMasterKey extends Error {
  constructor(readonly keyId: string) {
    super(`master key ${keyId} is not configured`);
  }
}

/** @param masterKeys the first one seals; all of them open. @throws Error if there are none */
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
      // Only one spelling of a token is accepted, so a one-time token cannot be used again in another spelling.
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
