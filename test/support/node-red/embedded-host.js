'use strict';
// A host application that embeds Node-RED in an Express app of its own and parses JSON bodies before anything else.
const http = require('node:http');
const path = require('node:path');
const RED = require('node-red');
// The Express that Node-RED itself brings.
const express = require(require.resolve('express', { paths: [require.resolve('node-red')] }));

const userDir = process.argv[process.argv.indexOf('--userDir') + 1];
const settings = {
  httpAdminRoot: '/',
  httpNodeRoot: '/',
  userDir,
  ...require(path.join(userDir, 'settings.js')),
};

const app = express();
app.use(express.json());
const server = http.createServer(app);
RED.init(server, settings);
app.use(settings.httpAdminRoot, RED.httpAdmin);
app.use(settings.httpNodeRoot, RED.httpNode);
app.get('/host', (_req, res) => res.send('the host itself'));

async function start() {
  await RED.start();
  server.listen(settings.uiPort, settings.uiHost, () => process.stdout.write('Server now running\n'));
}

async function stop() {
  await RED.stop();
  process.exit();
}

process.on('SIGTERM', () => void stop());
void start();
