import assert from 'node:assert/strict';
import { HELP, readCommandLine, type ProgramRequest } from '../../../lib/inbox/program/command-line';

const URL = 'postgres://rvm:secret@db/alarms';

function read(
  line: string,
  env: Record<string, string> = {},
  files: Record<string, string> = {},
): ProgramRequest {
  const readText = (file: string): string => {
    const text = files[file];
    if (text === undefined) throw new Error('ENOENT');
    return text;
  };
  return readCommandLine(line === '' ? [] : line.split(' '), env, readText);
}

describe('the command line of rvm-inbox', () => {
  it('shows the help where it is asked for, and where nothing is', () => {
    for (const line of ['', '--help', '-h', 'move --help']) assert.deepEqual(read(line), { name: 'help' });
    for (const option of ['--from', '--to-file', '--role', '--tls', 'RVM_INBOX_URL'])
      assert.ok(HELP.includes(option), option);
  });

  it('prints the schema rvm unless another is named, and grants nothing where no role is', () => {
    assert.deepEqual(read('sql'), { name: 'sql', schema: 'rvm' });
    assert.deepEqual(read('sql --schema alarms --role nodered'), {
      name: 'sql',
      schema: 'alarms',
      role: 'nodered',
    });
  });

  it('takes the connection of the command line', () => {
    assert.deepEqual(read(`move --from inbox --to ${URL}`), {
      name: 'move',
      from: 'inbox',
      to: URL,
      schema: 'rvm',
      tls: 'verify',
    });
    assert.deepEqual(read(`move --from inbox --to ${URL} --schema alarms --tls ca.pem`), {
      name: 'move',
      from: 'inbox',
      to: URL,
      schema: 'alarms',
      tls: 'ca.pem',
    });
  });

  it('takes the connection of a file or a variable, so that nobody sees the password in a list of processes', () => {
    const ofFile = read('move --from inbox --to-file url', {}, { url: `${URL}\n` });
    const ofVariable = read('move --from inbox', { RVM_INBOX_URL: URL });
    for (const request of [ofFile, ofVariable]) assert.equal('to' in request && request.to, URL);
  });

  const refused: [line: string, reason: RegExp][] = [
    ['copy', /^There is no such command, only sql and move\. See rvm-inbox --help\.$/],
    [URL, /^There is no such command/],
    ['--schema rvm', /^What is to be done is missing/],
    ['sql extra', /^sql takes options alone/],
    ['sql --from inbox', /^sql has no option --from/],
    ['sql --schema=', /^--schema must not be empty/],
    ['move --role x', /^move has no option --role/],
    ['move --unknown', /--unknown/],
    [`move --to ${URL}`, /^--from is missing/],
    ['move --from inbox', /^The connection is missing: --to, --to-file or the variable RVM_INBOX_URL/],
    [`move --from inbox --to ${URL} --to-file url`, /^--to and --to-file exclude each other/],
    ['move --from inbox --to-file absent', /^The file of --to-file cannot be read: absent/],
  ];
  for (const [line, reason] of refused) {
    it(`refuses "${line.replace(URL, 'URL')}" with one clear line`, () => {
      assert.throws(
        () => read(line),
        (error: Error) => {
          assert.match(error.message, reason);
          assert.ok(!error.message.includes('secret') && !error.message.includes('\n'), error.message);
          return true;
        },
      );
    });
  }
});
