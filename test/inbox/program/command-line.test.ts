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
    const named = { name: 'sql', schema: 'alarms', role: 'nodered' };
    assert.deepEqual(read('sql --schema alarms --role nodered'), named);
  });

  it('takes the connection of the command line', () => {
    const move = { name: 'move', from: 'inbox', to: URL };
    const line = `move --from inbox --to ${URL}`;
    assert.deepEqual(read(line), { ...move, schema: 'rvm', tls: 'verify' });
    const chosen = { ...move, schema: 'alarms', tls: 'ca.pem' };
    assert.deepEqual(read(`${line} --schema alarms --tls ca.pem`), chosen);
  });

  it('takes the connection of a file or a variable, so that nobody sees the password in a list of processes', () => {
    const ofFile = read('move --from inbox --to-file url', {}, { url: `${URL}\n` });
    const ofVariable = read('move --from inbox', { RVM_INBOX_URL: URL });
    for (const request of [ofFile, ofVariable]) assert.equal('to' in request && request.to, URL);
  });

  it('exports all of an inbox unless a period is named, of a folder or of a database', () => {
    const all = { since: 0, until: Number.MAX_SAFE_INTEGER };
    const rest = { name: 'export', schema: 'rvm', tls: 'verify' };
    assert.deepEqual(read('export --folder inbox'), { ...rest, ...all, source: { folder: 'inbox' } });
    const period = read(`export --url ${URL} --from 2026-03-04 --to 2026-03-04T05:00:00+01:00 --out x.csv`);
    const [since, until] = [Date.UTC(2026, 2, 4), Date.UTC(2026, 2, 4, 4)];
    assert.deepEqual(period, { ...rest, source: { url: URL }, since, until, out: 'x.csv' });
  });

  const refused: [line: string, reason: RegExp][] = [
    ['export --folder inbox --url x', /^--folder excludes --url and --url-file/],
    ['export --folder x --from yesterday', /^--from is no time such as 2026-03-04 or 2026-03-04T05:06:07Z/],
    ['export --to-file x', /^export has no option --to-file/],
    ['copy', /^There is no such command, only sql, move and export\. See rvm-inbox --help\.$/],
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
