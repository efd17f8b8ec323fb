import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A fresh certificate, good for a day and signed by nobody else, with its private key; both in PEM. */
export function selfSigned(commonName = 'localhost'): { key: string; cert: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'self-signed-'));
  const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  try {
    const request = ['req', ...kind, '-subj', `/CN=${commonName}`, '-keyout', key, '-out', cert];
    execFileSync('openssl', request, { stdio: 'ignore' });
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
