/** Matches a certificate in PEM (RFC 7468 §5), anywhere in a text. */
export const certificatePattern = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

/** Returns the certificates of a text, which may contain several. */
export const certificatesIn = (text: string): string[] => text.match(certificatePattern) ?? [];
