'use strict';

/** What stands in the file "environment" until somebody enters a value. */
const EXAMPLES = ['a long random text', 'what node-red-admin hash-pw prints'];

/** @returns the value of a variable; without it Node-RED does not start, rather than run unguarded */
function required(name) {
  const value = process.env[name] ?? '';
  if (value === '' || EXAMPLES.includes(value))
    throw new Error(`${name} is not set: see the file "environment"`);
  return value;
}

module.exports = {
  // This machine alone: a reverse proxy in front lets the webhook paths through. In a container all, and no port is published.
  uiHost: process.env.UI_HOST ?? '127.0.0.1',
  uiPort: Number(process.env.PORT ?? 1880),
  flowFile: 'flows.json',
  flowFilePretty: true,

  // Without the first the credentials cannot be read any more: keep a copy elsewhere.
  credentialSecret: required('NODE_RED_CREDENTIAL_SECRET'),
  adminAuth: {
    type: 'credentials',
    users: [
      // Who only watches gets permissions: 'read'.
      { username: 'admin', password: required('NODE_RED_ADMIN_HASH'), permissions: '*' },
    ],
  },

  // No drawn cameras where alarms are real.
  rvmSandbox: false,
  // For Prometheus on this machine; in a container for those of its network.
  rvmMetrics: {
    host: process.env.METRICS_HOST ?? '127.0.0.1',
    port: Number(process.env.METRICS_PORT ?? 9464),
  },

  logging: { console: { level: 'info', metrics: false, audit: false } },
};
