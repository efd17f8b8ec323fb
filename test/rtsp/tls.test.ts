import { once } from 'node:events';
import { connect } from 'node:tls';

import type { RtspServer } from '../../sandbox/rtsp/server';
import { needs } from '../support/suite/programs';
import { selfSigned } from '../support/network/certificates';
import { serverOfEachTest } from './server-under-test';

describe('rtsps', () => {
  const under = serverOfEachTest();
  before(function () {
    needs(this, 'openssl');
  });

  /** A client that trusts the certificate, once it has shaken hands. */
  async function secured({ port }: RtspServer, ca: string) {
    const socket = connect({ host: '127.0.0.1', port, ca, servername: 'localhost' });
    await once(socket, 'secureConnect');
    return socket;
  }

  it('who never shakes hands makes room for others', async () => {
    const tls = selfSigned();
    const server = await under.start({ tls, maxConnections: 2 });
    const silent = await under.connect(server.url);
    await under.connect(server.url);
    const socket = await secured(server, tls.cert);
    await silent.closing();
    socket.destroy();
  });

  it('closing does not wait for a client that never shakes hands', async () => {
    const server = await under.start({ tls: selfSigned() });
    const connection = await under.connect(server.url);
    await server.close();
    await connection.closing();
  });
});
