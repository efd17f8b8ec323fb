import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { readDialog } from '../../scripts/build';

const FIELD = '<div class="{{class}}">\n\n  <input id="{{prefix}}-name" />\n</div>\n';

describe('the rows that dialogs share', () => {
  let folder: string;

  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-rows-'));
    fs.mkdirSync(path.join(folder, 'rows'));
    fs.writeFileSync(path.join(folder, 'rows', 'field.html'), FIELD);
    fs.writeFileSync(path.join(folder, 'rows', 'line.html'), '<hr />\n');
  });
  after(() => fs.rmSync(folder, { recursive: true }));

  function read(dialog: string): string {
    const file = path.join(folder, 'rvm-some.html');
    fs.writeFileSync(file, dialog);
    return readDialog(file, path.join(folder, 'rows'));
  }

  it('stand where a dialog names them, with its values and as deep as it does', () => {
    const dialog =
      '<form>\n    <!-- row: field class="wide" prefix="node-input" -->\n    <!-- row: line -->\n</form>\n';
    assert.equal(
      read(dialog),
      '<form>\n    <div class="wide">\n\n      <input id="node-input-name" />\n    </div>\n    <hr />\n</form>\n',
    );
  });

  it('leave all else of a dialog as it is', () => {
    const dialog = '<!-- a comment -->\n<p>row: {{class}}</p>\n<!-- rows -->\n';
    assert.equal(read(dialog), dialog);
  });

  it('take a value as it is written', () => {
    assert.match(read('<!-- row: field class="$& {{prefix}}" prefix="" -->'), /"\$& \{\{prefix\}\}"/);
  });

  const FAULTS: [what: string, dialog: string, why: string][] = [
    ['a row that there is not', '<!-- row: feild -->', 'there is no row "feild"; there are: field, line'],
    ['a value that is missing', '<!-- row: field class="" -->', 'the row "field" needs a value for "prefix"'],
    ['a value too many', '<!-- row: line class="wide" -->', 'the row "line" has no parameter "class"'],
    [
      'a value without quotes',
      '<!-- row: field class=a -->',
      '<!-- row: field class=a --> does not name a row',
    ],
    ['a name that is missing', '<!-- row -->', '<!-- row --> does not name a row'],
    ['other spaces', '<!--row: line-->', '<!--row: line--> does not name a row'],
  ];
  for (const [what, dialog, why] of FAULTS) {
    it(`are refused with ${what}, by the name of the dialog`, () => {
      assert.throws(() => read(dialog), { message: `rvm-some.html: ${why}` });
    });
  }
});
