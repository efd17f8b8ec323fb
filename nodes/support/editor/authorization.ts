/** The login of the user, as the editor sends it with what goes by jQuery. */
export function authorization(): Record<string, string> {
  const tokens = RED.settings.get('auth-tokens');
  return tokens === undefined || tokens === null ? {} : { Authorization: `Bearer ${tokens.access_token}` };
}

/** Has the runtime do something while the page goes: nobody waits for the answer. @param path below `rvm/` */
export function postOnLeaving(path: string, body: object): void {
  const headers = { ...authorization(), 'Content-Type': 'application/json' };
  const address = `${RED.settings.apiRootUrl ?? ''}rvm/${path}`;
  void fetch(address, { method: 'POST', headers, body: JSON.stringify(body), keepalive: true });
}
