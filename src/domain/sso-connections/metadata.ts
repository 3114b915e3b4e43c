import { OutboundError } from '../../platform/outbound/errors.js';
import type { Outbound } from '../../platform/outbound/fetch.js';
import type { Guard } from '../../platform/outbound/guard.js';
import { DomainError, invalidField } from '../errors.js';
import { certificatesIn } from '../sso-protocols/saml/certificates.js';
import { MetadataRefused, parseMetadata, sendOne } from '../sso-protocols/saml/provider-metadata.js';
import { usableOf } from './certificates.js';
import { type ConnectionSettings, faultOfUrl } from './settings.js';

/** The document itself, or where the provider publishes it. */
export interface MetadataSource {
  xml?: string | undefined;
  url?: string | undefined;
}

/** The longest document that is read; those of whole federations, with many providers, are longer. */
export const metadataBytes = 1024 * 1024;

export interface MetadataDeps {
  outbound: Pick<Outbound, 'ask'>;
  guard: Pick<Guard, 'enter'>;
}

/**
 * Returns the settings of a connection from its provider's metadata (SAML 2.0 Metadata §2). Expired certificates that
 * are not in use are left out if there are others. Without a usable NameID format in it, that of the connection stays;
 * without a logout URL the connection has none, since the previous one may be another provider's.
 * @param inUse the certificates of the connection
 * @throws DomainError validation.failed, sso_connection.metadata_unreadable with the reason
 */
export async function settingsFromMetadata(
  { outbound, guard }: MetadataDeps,
  { xml, url }: MetadataSource,
  { inUse, now }: { inUse: string | null; now: Date },
): Promise<Partial<ConnectionSettings>> {
  if ((xml === undefined) === (url === undefined))
    throw invalidField('metadata_xml', 'one_of', 'Send the document in metadata_xml, or its address in metadata_url');
  const read = parse(
    xml ?? (await fetched({ outbound, guard }, url as string)),
    xml ? 'metadata_xml' : 'metadata_url',
    now,
  );
  const { samlNameIdFormat, samlSigningCert, ...rest } = read;
  const certificates = certificatesIn(samlSigningCert);
  const usable = usableOf(certificates, now, inUse);
  return {
    ...rest,
    samlSigningCert: (usable.length > 0 ? usable : certificates).join('\n'),
    ...(samlNameIdFormat && { samlNameIdFormat }),
  };
}

async function fetched({ outbound, guard }: MetadataDeps, url: string): Promise<string> {
  const fault = faultOfUrl(url, guard);
  if (fault) throw invalidField('metadata_url', fault.code, fault.message);
  const headers = { accept: 'application/samlmetadata+xml, application/xml;q=0.9, text/xml;q=0.9' };
  try {
    const { status, body } = await outbound.ask(url, { method: 'GET', headers, atMost: metadataBytes });
    if (status === 200) return body.toString('utf8');
    throw unreadable('metadata_url', 'unreachable', `returned status ${status}; redirects are not followed`);
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    const { reason, message } = error;
    throw unreadable('metadata_url', reason, reason === 'size' ? `${message}; ${sendOne}` : message);
  }
}

function parse(xml: string, field: string, now: Date) {
  try {
    return parseMetadata(xml, now);
  } catch (error) {
    if (error instanceof MetadataRefused) throw unreadable(field, 'unusable', error.message);
    throw error;
  }
}

const unreadable = (field: string, code: string, message: string) =>
  new DomainError('sso_connection.metadata_unreadable', { details: [{ field, code, message }] });
