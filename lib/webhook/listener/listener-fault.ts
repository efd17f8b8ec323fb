import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { RvmError } from '../../error';

/** Where a listener listens. */
export interface ListenerPlace {
  port: number;
  /** Name or address of this machine; '' = all its addresses. */
  host: string;
}

/** @throws RvmError CONFIG_MISSING without certificate or key, BAD_INPUT where they cannot be used; holds neither. */
export function assertUsable(tls: SecureContextOptions): void {
  if (tls.pfx === undefined && (tls.cert === undefined || tls.key === undefined)) {
    throw new RvmError(
      'CONFIG_MISSING',
      'The listener has no certificate with a private key: choose a TLS configuration that is enabled and has both, and see that their files can be read.',
    );
  }
  try {
    createSecureContext(tls);
  } catch (error) {
    throw new RvmError(
      'BAD_INPUT',
      `Certificate and private key of the listener cannot be used (${codeOf(error)}): see in its TLS configuration that both are PEM files, belong together, and have the right passphrase.`,
    );
  }
}

/** What to do about a port that could not be opened: NETWORK where somebody else has it, else BAD_INPUT. */
export function listenFault(error: unknown, { port, host }: ListenerPlace): RvmError {
  const code = codeOf(error);
  switch (code) {
    case 'EADDRINUSE':
      return new RvmError(
        'NETWORK',
        `Port ${port} of the listener is in use by another program, or by Node-RED itself: free it, or choose another. It is tried again every few seconds.`,
      );
    case 'EACCES':
      return new RvmError(
        'BAD_INPUT',
        `The listener may not open port ${port}: choose one from 1024 on, or give Node.js the right to open lower ones (on Linux the capability CAP_NET_BIND_SERVICE).`,
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new RvmError(
        'BAD_INPUT',
        `This machine has no address "${host}" for the listener: leave the host empty for all its addresses, or enter one of them.`,
      );
    default:
      return new RvmError(
        'BAD_INPUT',
        `The listener cannot open port ${port} (${code}): check its port and host.`,
      );
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}
