import { MoreThan } from 'typeorm';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { systemActor } from '../../platform/context.js';
import type { Db } from '../../platform/database/db.js';
import { lastEndOf, warnings } from './certificates.js';
import { recordConnectionEvent } from './events.js';
import { mailCertificateExpiring } from './mails.js';

// Since the row was read, another run may have sent the warning, or somebody may have set a new certificate.
const claimText = `
update sso_connections set saml_certificate_warned_at = $2
where id = $1 and status = 'active' and saml_signing_cert = $3
  and (saml_certificate_warned_at is null or saml_certificate_warned_at < $4)
returning id`;

/**
 * Checks a page of active SAML connections, in the order of their ids, and warns of certificates that expire: by the
 * event `sso_connection.certificate_expiring` and by mail, each warning once. A connection still works with an expired
 * certificate, but usually its provider changes the key then, and responses signed with the new one are refused.
 * @returns the id of the last connection of the page; null after the last page
 */
export async function warnOfCertificates(db: Db, after: string, take: number, now: Date): Promise<string | null> {
  const page = await db.transaction('system', (tx) =>
    tx.find(SsoConnection, {
      where: { id: MoreThan(after), type: 'saml', status: 'active' },
      order: { id: 'ASC' },
      take,
    }),
  );
  for (const connection of page) await warnOf(db, connection, now);
  return page.length === take ? page.at(-1)!.id : null;
}

async function warnOf(db: Db, connection: SsoConnection, now: Date): Promise<void> {
  const { id, samlSigningCert, samlCertificateWarnedAt: before } = connection;
  const end = lastEndOf(samlSigningCert ?? '');
  const since = end && dueSince(end, now);
  if (!end || !since || (before && before >= since)) return;
  await db.transaction('system', async (tx) => {
    const [claimed] = await tx.query<[{ id: string }[], number]>(claimText, [id, now, samlSigningCert, since]);
    if (claimed.length === 0) return;
    await recordConnectionEvent(tx, 'sso_connection.certificate_expiring', connection, {
      not_after: end.toISOString(),
      actor: systemActor,
    });
    await mailCertificateExpiring(tx, connection, now);
  });
}

/** Returns since when the latest warning has been due; null before the first one. */
function dueSince(end: Date, now: Date): Date | null {
  const moments = warnings.map((before) => new Date(end.getTime() - before)).filter((moment) => moment <= now);
  return moments.at(-1) ?? null;
}
