'use strict';
// A stranger, in a process of its own: many connections to this machine, each with many tiny forged posts in one write, whose answers
// nobody reads. Says when it begins, and ends with its parent, or by itself after a minute.
const net = require('node:net');

/** Connections that are opened at a time: more would wait in the line of the port, and be dropped there. */
const AT_A_TIME = 100;

const { port, path, connections, posts } = JSON.parse(process.argv[2]);
const post = `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: HMAC-SHA256 AAAA\r\nContent-Length: 0\r\n\r\n`;
const burst = Buffer.from(post.repeat(posts));

let left = connections;

function next() {
  if (left === 0) return;
  left -= 1;
  const socket = net.connect(port, '127.0.0.1', () => {
    socket.pause();
    socket.write(burst);
    next();
  });
  socket.once('error', () => undefined);
}

for (let index = 0; index < AT_A_TIME; index += 1) next();
process.send('begun');
process.once('disconnect', () => process.exit());
setTimeout(() => process.exit(), 60_000).unref();
setInterval(() => undefined, 1000);
