import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

/** A server that can be asked, from Node.js 22.21 and 24.9 on, whether it takes an upgrade. */
interface AskedServer extends Server {
  shouldUpgradeCallback: (this: Server, req: IncomingMessage) => boolean;
}

/** As many header lines as Node keeps (1,000): with more, some are missing among the raw ones. */
export const KEPT_RAW_HEADERS = 2000;

/**
 * Lets a server take requests that ask for another protocol as ordinary ones, where they are ours: it is free to ignore
 * the wish (RFC 9110, section 7.8). Node leaves them unanswered wherever anybody listens for `upgrade`, and some clients
 * ask for HTTP/2 in this way with every POST.
 */
export function ignoreUpgrades(server: Server, isOurs: (target: string) => boolean): void {
  if (canBeAsked(server)) {
    const before = server.shouldUpgradeCallback;
    server.shouldUpgradeCallback = function shouldUpgrade(req) {
      return isOurs(req.url ?? '') ? false : before.call(this, req);
    };
    return;
  }
  server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (isOurs(req.url ?? '')) handBack(req, socket, head, server);
  });
}

function canBeAsked(server: Server): server is AskedServer {
  return 'shouldUpgradeCallback' in server && typeof server.shouldUpgradeCallback === 'function';
}

/**
 * Hands a request back to its server, without the wish; framing and bytes of the body stay as they came. Cut where they
 * might not: with header lines that Node has dropped, or behind a request that still waits for its answer.
 */
function handBack(req: IncomingMessage, socket: Duplex, head: Buffer, server: Server): void {
  const isPending = '_httpMessage' in socket && socket._httpMessage !== null;
  if (req.rawHeaders.length >= KEPT_RAW_HEADERS || isPending) {
    socket.destroy();
    return;
  }
  const lines = [`${req.method ?? ''} ${req.url ?? ''} HTTP/${req.httpVersion}`];
  for (let at = 0; at < req.rawHeaders.length; at += 2) {
    const name = req.rawHeaders[at] ?? '';
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${req.rawHeaders[at + 1] ?? ''}`);
  }
  // Node reads header lines as Latin-1, so this gives the bytes back that came.
  socket.unshift(Buffer.concat([Buffer.from([...lines, '', ''].join('\r\n'), 'latin1'), head]));
  server.emit('encrypted' in socket ? 'secureConnection' : 'connection', socket);
}
