import { createSecureContext, type SecureContext } from 'node:tls';
import { RvmError } from './error';

/** TLS settings for the service. Names as in `node:tls`; keys and certificates are PEM, `pfx` is not. */
export interface TlsSettings {
  /** Replaces the certificate authorities of the machine. */
  ca?: string | Buffer;
  /** A client certificate, for a service that requests one. */
  cert?: string | Buffer;
  key?: string | Buffer;
  pfx?: string | Buffer;
  passphrase?: string;
  /** Name that the certificate of the service must have, where it differs from the host of the address. */
  servername?: string;
  /** False accepts any certificate. */
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
 * @param owner the node that has the settings
 * @throws RvmError CONFIG_MISSING for a text that is no certificate or key, and for a key that does not fit.
 */
export function tlsOptions(
  { servername, rejectUnauthorized, ...files }: TlsSettings = {},
  owner: 'cloud' | 'inbox' = 'cloud',
): TlsOptions {
  return {
    secureContext: contextOf(files, owner),
    ...(servername === undefined || servername === '' ? {} : { servername }),
    // Only an explicit false disables the check.
    ...(rejectUnauthorized === false ? { rejectUnauthorized } : {}),
  };
}

function contextOf(
  files: Omit<TlsSettings, 'servername' | 'rejectUnauthorized'>,
  owner: string,
): SecureContext {
  // OpenSSL ignores text that is not PEM here, and would then trust no authority.
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

/** The peer of a TLS connection. */
type Party = 'service' | 'proxy' | 'relay' | 'database';

/** Error codes of OpenSSL for an answer without TLS. */
const NO_TLS = /^(ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG|ERR_SSL_HTTP_REQUEST|EPROTO)$/;
const NOT_ACCEPTED =
  /^(CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_|CRL_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_)/;
const UNKNOWN_AUTHORITY = /^(UNABLE_TO_(GET_ISSUER|VERIFY)|DEPTH_ZERO_|SELF_SIGNED_)/;
const OUT_OF_DATE = /^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/;

/** Alerts of the peer about the client certificate; older releases of OpenSSL write SSLV3 or TLSV1 before them. */
const CERTIFICATE_REQUESTED = /ALERT_(CERTIFICATE_REQUIRED|NO_CERTIFICATE)/;
const REFUSED =
  /ALERT_(BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_(REVOKED|EXPIRED|UNKNOWN)|UNKNOWN_CA|ACCESS_DENIED)/;
const ALERT = /ALERT_[A-Z]/;

const OF_THE_CLOUD =
  'a certificate authority of your own goes into the TLS node of the cloud, or into NODE_EXTRA_CA_CERTS';
const OWN_AUTHORITY: Readonly<Record<Party, string>> = {
  service: OF_THE_CLOUD,
  relay: OF_THE_CLOUD,
  proxy: 'its certificate authority goes into NODE_EXTRA_CA_CERTS',
  database:
    'a certificate authority of your own goes into the TLS node of the inbox (for rvm-inbox move: --tls), or into NODE_EXTRA_CA_CERTS',
};
/** The node that a TLS node belongs to. */
const OWNER: Readonly<Record<Party, string>> = {
  service: 'cloud',
  relay: 'cloud',
  proxy: 'cloud',
  database: 'inbox',
};
const IN_CLEAR: Readonly<Record<Party, string>> = {
  service: 'http:// instead of https://',
  proxy: 'http:// instead of https://',
  relay: 'rtsp:// instead of rtsps://',
  database: 'PostgreSQL',
};

/**
 * One sentence about a TLS connection that failed; undefined where TLS is not the reason.
 * @param message of the error: where OpenSSL fails during a write, only the message contains the reason
 */
export function tlsFault(code: string, message: string, party: Party): string | undefined {
  const said = code === 'EPROTO' ? message.toUpperCase().replaceAll(' ', '_') : code;
  if (party === 'proxy' && ALERT.test(said)) {
    return `The proxy ends the TLS handshake (${code}): it may ask for a certificate of the client, which it does not get.`;
  }
  if (CERTIFICATE_REQUESTED.test(said)) {
    return `The ${party} asks for a certificate of the client (${code}): enter it in the TLS node of the ${OWNER[party]}.`;
  }
  if (REFUSED.test(said)) {
    return `The ${party} does not accept the certificate of the client (${code}): check the one in the TLS node of the ${OWNER[party]}.`;
  }
  if (ALERT.test(said)) {
    return `The ${party} ends the TLS handshake (${code}): it may ask for a certificate of the client, which goes into the TLS node of the ${OWNER[party]}, or for another version of TLS.`;
  }
  if (NO_TLS.test(code)) {
    return `What answers at the address of the ${party} does not speak TLS as expected (${code}): is it ${IN_CLEAR[party]}?`;
  }
  if (!NOT_ACCEPTED.test(code)) return undefined;
  return `The certificate of the ${party} is not accepted (${code}); ${cure(code, party)}.`;
}

function cure(code: string, party: Party): string {
  if (UNKNOWN_AUTHORITY.test(code)) return `check its address; ${OWN_AUTHORITY[party]}`;
  if (OUT_OF_DATE.test(code)) return `check the clock of this machine, then tell who runs the ${party}`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const hasName = party === 'service' || party === 'database';
    const name = hasName ? `, or enter the name in the TLS node of the ${OWNER[party]}` : '';
    return `it is for another name: check the address of the ${party}${name}`;
  }
  return `check its address; ${OWN_AUTHORITY[party]}`;
}
