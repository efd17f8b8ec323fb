import { createSecureContext, type SecureContext } from 'node:tls';
import { RvmError } from '../error';

/** What a user may set of the TLS to the service. Names as in `node:tls`; keys and certificates are PEM, `pfx` is not. */
export interface TlsSettings {
  /** Stands in the place of the certificate authorities of the machine. */
  ca?: string | Buffer;
  /** A certificate of the client, for a service that asks for one. */
  cert?: string | Buffer;
  key?: string | Buffer;
  pfx?: string | Buffer;
  passphrase?: string;
  /** Name that the certificate of the service must be for, where it is not that of the address. */
  servername?: string;
  /** False takes any certificate. */
  rejectUnauthorized?: boolean;
}

/** Options of each TLS connection to the service. Files are read once, not for each connection. */
export interface TlsOptions {
  secureContext: SecureContext;
  servername?: string;
  rejectUnauthorized?: false;
}

const PEM = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----/;

/**
 * @param owner the node that has them
 * @throws RvmError CONFIG_MISSING for what is no certificate or key, and for a key that fits neither.
 */
export function tlsOptions(
  { servername, rejectUnauthorized, ...files }: TlsSettings = {},
  owner: 'cloud' | 'inbox' = 'cloud',
): TlsOptions {
  return {
    secureContext: contextOf(files, owner),
    ...(servername === undefined || servername === '' ? {} : { servername }),
    // What is not said is not allowed.
    ...(rejectUnauthorized === false ? { rejectUnauthorized } : {}),
  };
}

function contextOf(
  files: Omit<TlsSettings, 'servername' | 'rejectUnauthorized'>,
  owner: string,
): SecureContext {
  // OpenSSL passes over what it cannot read here, and would then trust nobody.
  if (files.ca !== undefined && !PEM.test(files.ca.toString())) {
    throw unusable('its CA file holds no certificate in PEM form', owner);
  }
  try {
    return createSecureContext(files);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    throw unusable(`certificate, key and passphrase do not fit${code}`, owner);
  }
}

function unusable(reason: string, owner: string): RvmError {
  return new RvmError(
    'CONFIG_MISSING',
    `The TLS node of the ${owner} cannot be used: ${reason}; correct it there.`,
  );
}
