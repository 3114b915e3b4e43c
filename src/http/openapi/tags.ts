/** The groups of operations with their descriptions, in the document's order. */
export const tags: Record<string, string> = {
  Authorization: 'Checks whether an identity has a permission at a node, and explains why.',
  AuthZEN: 'The same authorization engine through the OpenID AuthZEN Authorization API 1.0.',
  Identities: 'The end users of an environment: profiles, access, sessions and second factors.',
  'Identity invites': 'Invites of end users: into an environment, or only into the directory of an account.',
  Hierarchy: 'The tree of nodes at which roles are assigned, and the schema of its node types.',
  Organizations: 'Organizations, which are also nodes: their members, and how these sign in.',
  Roles: 'Named sets of permissions.',
  Permissions: 'The permissions of the system, and those of your own resources; roles consist of them.',
  'Role assignments': 'Who holds which role at which node, and during which time.',
  'API keys': 'Credentials for servers.',
  'Audit log': 'What happened, who did it, and with which outcome: for people to look up later.',
  'Change feed': 'What happened, in an order that misses nothing: for programs to follow.',
  Webhooks: 'Receivers of the events of an environment or of a whole account, and the deliveries to them.',
  'OAuth clients': 'Applications that people sign in to.',
  Account: 'The account itself.',
  Applications: 'The applications of an account.',
  'SSO connections':
    'Identity providers through which administrators and end users sign in; those of organizations are under Organizations.',
  'SSO domains': 'Domains that the account claims for its administrators, and proves through DNS.',
  SCIM:
    'Provisioning of users and groups from the directories of customers: SCIM 2.0, its tokens, and the mappings of its ' +
    'groups.',
  Environments: 'The environments of an application, and how people sign in to them.',
  Members: 'The administrators of an account.',
  'Administrator roles': 'Sets of capabilities that administrators hold.',
  'Administrator invites': 'Invites to administer an account.',
  Processes: 'Whatever waits for a person, a deadline or a mail server: view, cancel, retry or extend it.',
  Me: 'The signed-in administrator.',
  'Admin authentication': 'Registration, sign-in and sessions of administrators.',
  'End-user authentication': 'Sign-in of end users on your own pages.',
  'OAuth 2.0': 'The token endpoints of OAuth 2.0 and OpenID Connect.',
  'Hosted login':
    'The hosted sign-in pages, and the account pages of end users. A script that sends `Accept: application/json` gets ' +
    'as JSON what a browser would be shown; instead of a redirect (303), it gets 200 with `redirect_to`.',
  Discovery: 'Metadata documents from which clients configure themselves.',
};
