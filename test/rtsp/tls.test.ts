import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect } from 'node:tls';

import { programAvailable } from '../support/burnt-in-second';
import { ServerUnderTest, live } from './server-under-test';

describe('rtsps', () => {
  const under = new ServerUnderTest();
  afterEach(() => under.stop());
  before(function () {
    if (!programAvailable('openssl', 'version')) this.skip();
  });

  const certificate = (): { key: Buffer; cert: Buffer } => {
    const folder = mkdtempSync(path.join(tmpdir(), 'rtsps-'));
    const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    const options = [
      'req',
      '-x509',
      ...kind,
      '-subj',
      '/CN=localhost',
      '-days',
      '1',
      '-keyout',
      key,
      '-out',
      cert,
    ];
    try {
      execFileSync('openssl', options, { stdio: 'ignore' });
      return { key: readFileSync(key), cert: readFileSync(cert) };
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

  it('URLs are rtsps, and the server answers over TLS', async () => {
    const tls = certificate();
    const server = await under.start({ tls });
    const url = server.grant(live());
    assert.match(url, /^rtsps:/);
    const socket = connect({ host: '127.0.0.1', port: server.port, ca: tls.cert, servername: 'localhost' });
    await once(socket, 'secureConnect');
    socket.write(`DESCRIBE ${url} RTSP/1.0\r\nCSeq: 1\r\n\r\n`);
    const [answer]: Buffer[] = await once(socket, 'data');
    assert.match(String(answer), /^RTSP\/1\.0 200 OK/);
    socket.destroy();
  });

  it('closing does not wait for a client that never shakes hands', async () => {
    const server = await under.start({ tls: certificate() });
    const connection = await under.connect(server.url);
    await server.close();
    await connection.closing();
  });
});
