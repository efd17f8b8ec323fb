import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * Hands a request that asks for another protocol back to its server, without the wish: a server is free to ignore it
 * (RFC 9110, section 7.8), but Node leaves such a request unanswered wherever anybody listens for `upgrade`, and some
 * clients ask for HTTP/2 in this way with every POST. Framing and bytes of the body stay as they came.
 */
export function ignoreUpgrade(req: IncomingMessage, socket: Duplex, head: Buffer, server: Server): void {
  const lines = [`${req.method ?? ''} ${req.url ?? ''} HTTP/${req.httpVersion}`];
  for (let at = 0; at < req.rawHeaders.length; at += 2) {
    const name = req.rawHeaders[at] ?? '';
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${req.rawHeaders[at + 1] ?? ''}`);
  }
  // Node reads header lines as Latin-1, so this gives the bytes back that came.
  socket.unshift(Buffer.concat([Buffer.from([...lines, '', ''].join('\r\n'), 'latin1'), head]));
  server.emit('encrypted' in socket ? 'secureConnection' : 'connection', socket);
}
