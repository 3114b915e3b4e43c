/** The authentication methods that a context class implies, as RFC 8176 values. */
const methods: Readonly<Record<string, readonly string[]>> = {
  'urn:oasis:names:tc:SAML:2.0:ac:classes:Password': ['pwd'],
  'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport': ['pwd'],
  'urn:oasis:names:tc:SAML:2.0:ac:classes:TimeSyncToken': ['otp'],
  'urn:oasis:names:tc:SAML:2.0:ac:classes:Smartcard': ['sc'],
  'urn:oasis:names:tc:SAML:2.0:ac:classes:SmartcardPKI': ['sc', 'pin', 'mfa'],
  'urn:oasis:names:tc:SAML:2.0:ac:classes:X509': ['pop'],
  'urn:oasis:names:tc:SAML:2.0:ac:classes:TLSClient': ['pop'],
  'urn:oasis:names:tc:SAML:2.0:ac:classes:Kerberos': ['wia'],
  'urn:federation:authentication:windows': ['wia'],
  'urn:oasis:names:tc:SAML:2.0:ac:classes:MobileTwoFactorUnregistered': ['mfa'],
  'urn:oasis:names:tc:SAML:2.0:ac:classes:MobileTwoFactorContract': ['mfa'],
  'https://refeds.org/profile/mfa': ['mfa'],
  'http://schemas.microsoft.com/claims/multipleauthn': ['mfa'],
};

/** The attribute in which Entra ID and AD FS send the methods; their context class does not change. */
const methodsAttribute = 'http://schemas.microsoft.com/claims/authnmethodsreferences';

/** Returns the RFC 8176 values of an assertion; none if its provider sends nothing that is known here. */
export function amrOfContext(
  contextClass: string | null,
  attributes: Readonly<Record<string, readonly string[]>>,
): readonly string[] {
  const said = [contextClass ?? '', ...(attributes[methodsAttribute] ?? [])];
  return [...new Set(said.flatMap((name) => (Object.hasOwn(methods, name) ? (methods[name] ?? []) : [])))];
}
