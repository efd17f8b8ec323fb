import { PATH, PHRASE } from '../test/support/node-red/flows';
import type { FlowNode } from '../test/support/node-red/node-red';
import { COUNTER, functionNode, TAB } from './counting-node-red';

const VERIFY = `const expected = crypto.createHmac('sha256', ${JSON.stringify(PHRASE)}).update(msg.payload).digest();
const [, text = ''] = (msg.req.headers.authorization || '').split(' ');
const given = Buffer.from(text, 'base64');
const genuine = given.length === expected.length && crypto.timingSafeEqual(given, expected);
msg.statusCode = genuine ? 200 : 401;`;

/** It proves, answers and hands on, and keeps nothing. */
const HAND_ON = `${VERIFY}
const event = genuine ? { payload: JSON.parse(msg.payload.toString()).payload } : null;
msg.payload = '';
return [msg, event];`;

/** It also keeps each event, on the disk before it is answered, and hands on what is new. */
const KEEP = `${VERIFY}
const message = genuine ? JSON.parse(msg.payload.toString()) : undefined;
const isNew = genuine && global.get('keep')(message.messageId, msg.payload);
msg.payload = '';
return [msg, isNew ? { payload: message.payload } : null];`;

/**
 * What `keepingFlow` keeps events with, among the `functionGlobalContext` of its settings: the file stands beside them. The table is
 * the least that knows a repeat.
 */
export const KEEPING = `keep: (() => {
      let insert;
      return (id, body) => {
        if (insert === undefined) {
          const { DatabaseSync } = require('node:sqlite');
          const database = new DatabaseSync(require('node:path').join(__dirname, 'by-hand.sqlite'));
          database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
          database.exec('CREATE TABLE IF NOT EXISTS event (id TEXT PRIMARY KEY, body BLOB NOT NULL)');
          insert = database.prepare('INSERT OR IGNORE INTO event VALUES (?, ?)');
        }
        return insert.run(id, body).changes === 1;
      };
    })(),`;

/** What a user wires by hand, without a thought for a restart. */
export function handWiredFlow(): FlowNode[] {
  return flowWith(HAND_ON);
}

/** What a user wires by hand who wants each event to be kept; needs `KEEPING`. */
export function keepingFlow(): FlowNode[] {
  return flowWith(KEEP);
}

function flowWith(code: string): FlowNode[] {
  return [
    TAB,
    {
      id: 'in',
      type: 'http in',
      z: 'tab',
      url: PATH,
      method: 'post',
      skipBodyParsing: true,
      wires: [['verify']],
    },
    functionNode('verify', code, {
      outputs: 2,
      libs: [{ var: 'crypto', module: 'crypto' }],
      wires: [['answer'], ['counter']],
    }),
    { id: 'answer', type: 'http response', z: 'tab', statusCode: '', headers: {}, wires: [] },
    COUNTER,
  ];
}
