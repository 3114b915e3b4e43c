/** A certificate in PEM (RFC 7468 §5), wherever it stands in a text. */
export const certificatePattern = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

/** The certificates of a text, which may hold several behind each other. */
export const certificatesIn = (text: string): string[] => text.match(certificatePattern) ?? [];
