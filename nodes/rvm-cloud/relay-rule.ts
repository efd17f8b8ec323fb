/**
 * True for the name of a host, or the end of one from a dot on, that video relays may have; an IPv4 address is its own end.
 * Shared by the dialog and the server.
 */
export function isRelayHost(text: string): boolean {
  return text.length <= 253 && /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/i.test(text);
}
