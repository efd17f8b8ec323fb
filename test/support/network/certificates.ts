import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { temporaryFolder } from '../suite/temporary-folder';

export interface Issued {
  key: string;
  cert: string;
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];

/** A certificate authority that no machine knows, with the certificates that it issues. All in PEM. */
export class Authority {
  readonly #folder = temporaryFolder('authority');

  constructor(name = 'Authority of the test') {
    const files = ['-keyout', this.#file('ca.key'), '-out', this.file];
    openssl('req', '-x509', ...KEY, '-nodes', '-days', '2', '-subj', `/CN=${name}`, ...files);
  }

  /** File of the authority's own certificate. */
  get file(): string {
    return this.#file('ca.pem');
  }

  get cert(): string {
    return readFileSync(this.file, 'utf8');
  }

  /** For a server, by default on this machine. Negative days are over. */
  issueForServer(names = 'DNS:localhost,IP:127.0.0.1', days = 1): Issued {
    return this.#issue(`subjectAltName=${names}`, days);
  }

  /** @param passphrase encrypts the key */
  issueForClient(passphrase?: string): Issued {
    return this.#issue('extendedKeyUsage=clientAuth', 1, passphrase);
  }

  /** Certificate and key in one file of PKCS #12. */
  bundle({ key, cert }: Issued, passphrase: string): Buffer {
    writeFileSync(this.#file('in.pem'), key + cert);
    const out = this.#file('out.p12');
    openssl('pkcs12', '-export', '-in', this.#file('in.pem'), '-out', out, '-passout', `pass:${passphrase}`);
    return readFileSync(out);
  }

  /** Keeps a text for programs that want a file; gone with the authority. */
  save(name: string, text: string): string {
    writeFileSync(this.#file(name), text);
    return this.#file(name);
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }

  #issue(extension: string, days: number, passphrase?: string): Issued {
    const [key, request, cert] = [this.#file('leaf.key'), this.#file('leaf.csr'), this.#file('leaf.pem')];
    const lock = passphrase === undefined ? ['-nodes'] : ['-passout', `pass:${passphrase}`];
    openssl('req', ...KEY, ...lock, '-subj', '/CN=leaf', '-keyout', key, '-out', request);
    writeFileSync(this.#file('leaf.ext'), extension);
    const issuer = ['-CA', this.file, '-CAkey', this.#file('ca.key'), '-CAcreateserial'];
    const what = ['-days', String(days), '-extfile', this.#file('leaf.ext'), '-out', cert];
    openssl('x509', '-req', '-in', request, ...issuer, ...what);
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  }

  #file(name: string): string {
    return path.join(this.#folder, name);
  }
}

function openssl(...options: string[]): void {
  execFileSync('openssl', options, { stdio: 'ignore' });
}

/** A fresh certificate, good for a day and signed by nobody else, with its private key; both in PEM. */
export function selfSigned(commonName = 'localhost'): Issued {
  const folder = temporaryFolder('self-signed');
  const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
  const files = ['-keyout', key, '-out', cert];
  openssl('req', '-x509', ...KEY, '-nodes', '-days', '1', '-subj', `/CN=${commonName}`, ...files);
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
}
