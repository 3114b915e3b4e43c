/** The URL of this service, and of the application where administrators sign in and work: by default this service. */
export interface AdminApp {
  baseUrl: string;
  adminAppUrl?: string;
}

/** Returns the URL of the administrators' application; null where none is configured: this service has no such page. */
export const adminAppOf = ({ baseUrl, adminAppUrl = baseUrl }: AdminApp): string | null =>
  adminAppUrl === baseUrl ? null : adminAppUrl;
